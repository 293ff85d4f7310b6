// SPDX-License-Identifier: Apache-2.0
// Leases: the owner is notified once, after the last lease, and shared memory is never written.
#include "common/memory/buffer.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <latch>
#include <thread>
#include <vector>

namespace stretto {
namespace {

class BufferTest : public testing::Test {
 protected:
  Buffer borrow() {
    return Buffer::borrow(memory_, [this] { ++released_; });
  }
  Buffer adopt() {
    return Buffer::adopt(memory_, [this] { ++released_; });
  }

  std::array<std::byte, 8> memory_{};
  int released_ = 0;
};

TEST_F(BufferTest, NoBytesIsABufferToo) {
  const Buffer none;
  EXPECT_TRUE(none.empty());
  EXPECT_EQ(none.size(), 0U);
  EXPECT_EQ(none.data(), nullptr);
  EXPECT_FALSE(none.exclusive());
  const Buffer copy = none;
  EXPECT_TRUE(copy.empty());
}

TEST_F(BufferTest, AllocatedMemoryIsAlignedAndOurs) {
  for (const std::size_t size : {0U, 1U, 63U, 64U, 65U, 100'000U}) {
    Buffer buffer = Buffer::allocate(size);
    EXPECT_EQ(buffer.size(), size);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer.data()) % 64, 0U);
    EXPECT_TRUE(buffer.exclusive());
    std::ranges::fill(buffer.writable(), std::byte{1});
  }
}

TEST_F(BufferTest, ACopyHasItsOwnBytes) {
  memory_.fill(std::byte{5});
  const Buffer copy = Buffer::copy_of(memory_);
  memory_.fill(std::byte{6});
  EXPECT_NE(copy.data(), memory_.data());
  EXPECT_EQ(copy.bytes()[7], std::byte{5});
  EXPECT_TRUE(Buffer::copy_of({}).empty());
}

TEST_F(BufferTest, TheOwnerIsToldWhenTheLastLeaseEnds) {
  Buffer first = borrow();
  {
    const Buffer second = first;
    const Buffer third = second;
    EXPECT_EQ(third.data(), memory_.data()) << "leases are copied, bytes are not";
    first = Buffer();
    EXPECT_EQ(released_, 0);
  }
  EXPECT_EQ(released_, 1);
}

TEST_F(BufferTest, MovingALeaseIsNoNewOne) {
  Buffer first = adopt();
  Buffer second = std::move(first);
  EXPECT_TRUE(second.exclusive());
  Buffer& itself = second;
  second = std::move(itself);
  EXPECT_EQ(released_, 0);
  EXPECT_TRUE(second.exclusive());
  second = borrow();
  EXPECT_EQ(released_, 1) << "assignment ends the old lease";
  second = Buffer();
  EXPECT_EQ(released_, 2);
}

TEST_F(BufferTest, AssigningALeaseToItselfKeepsIt) {
  Buffer buffer = borrow();
  const Buffer& alias = buffer;
  buffer = alias;
  EXPECT_EQ(released_, 0);
  EXPECT_EQ(buffer.data(), memory_.data());
}

TEST_F(BufferTest, OnlyTheSoleLeaseOnWritableMemoryIsExclusive) {
  EXPECT_FALSE(borrow().exclusive()) << "lent memory is never ours to write";
  Buffer buffer = adopt();
  EXPECT_TRUE(buffer.exclusive());
  {
    const Buffer other = buffer;
    EXPECT_FALSE(buffer.exclusive());
    EXPECT_FALSE(other.exclusive());
  }
  EXPECT_TRUE(buffer.exclusive()) << "and again once the other has gone";
}

TEST_F(BufferTest, LeasesMayEndOnAnyThreadAndTheOwnerIsToldOnce) {
  for (int round = 0; round < 200; ++round) {
    released_ = 0;
    std::latch together(4);
    std::vector<std::jthread> threads;
    {
      const Buffer buffer = borrow();
      for (int i = 0; i < 4; ++i) {
        threads.emplace_back([&together, lease = buffer] {
          together.arrive_and_wait();
          for (int copies = 0; copies < 20; ++copies) {
            const Buffer copy = lease;
            EXPECT_EQ(copy.size(), 8U);
          }
        });
      }
    }
    threads.clear();
    ASSERT_EQ(released_, 1);
  }
}

TEST_F(BufferTest, ExclusiveOwnerMayWriteAfterReaderReleases) {
  for (int round = 0; round < 200; ++round) {
    Buffer buffer = Buffer::allocate(8);
    std::jthread reader([lease = buffer]() mutable {
      EXPECT_EQ(lease.size(), 8U);
      lease = Buffer();
    });
    while (!buffer.exclusive()) std::this_thread::yield();
    buffer.writable()[0] = std::byte{1};
  }
}

TEST(BufferDeathTest, WritingSharedBufferAborts) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(
      {
        Buffer buffer = Buffer::allocate(8);
        const Buffer other = buffer;
        (void)buffer.writable();
      },
      "stretto bug: .*exclusive");
}

}  // namespace
}  // namespace stretto

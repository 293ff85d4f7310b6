// SPDX-License-Identifier: Apache-2.0
// Frames cut into slices and reassembled, with other slices interleaved.
#include "van/session/reassembly.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace stretto {
namespace {

class ReassemblyTest : public testing::Test {
 protected:
  ReassemblyTest() {
    for (std::size_t i = 0; i < bytes_.size(); ++i) bytes_[i] = static_cast<std::byte>(i % 251);
  }

  // The slice [offset, offset + size) of a frame of `total` bytes whose first slice is number
  // `first`.
  Result<std::optional<Reassembly::Whole>> give(std::uint64_t first, std::uint32_t offset,
                                                std::uint32_t size, std::uint32_t total,
                                                std::uint16_t flags = 0) {
    wire::Header header;
    header.kind = offset == 0 && flags == 0 ? wire::Kind::kPush : wire::Kind::kMore;
    header.sequence = header.kind == wire::Kind::kPush ? first : first + offset + 1000;
    header.version = header.kind == wire::Kind::kPush ? 77 : first;
    header.offset = offset;
    header.bytes = size;
    header.total = total;
    header.flags = flags;
    header.push_sequence = offset + size == total ? 9 : 0;
    header.priority = static_cast<std::int32_t>(offset);
    header.deadline = offset + 1;
    const Buffer slice = Buffer::copy_of(std::span(bytes_).subspan(offset, size));
    return assembly_.take(
        header, slice, [this](const wire::Header&) { return place_; },
        [this](std::size_t bytes) { return full_ ? Buffer() : Buffer::allocate(bytes); });
  }
  bool holds(const Buffer& payload, std::size_t size) const {
    return payload.size() == size && std::memcmp(payload.data(), bytes_.data(), size) == 0;
  }

  std::vector<std::byte> bytes_ = std::vector<std::byte>(1000);
  std::span<std::byte> place_;
  bool full_ = false;  // Memory is exhausted.
  Reassembly assembly_;
};

TEST_F(ReassemblyTest, DropsFrameWhenMemoryIsFull) {
  EXPECT_FALSE(give(5, 0, 400, 1000).or_exit().has_value());
  EXPECT_EQ(assembly_.held_bytes(), 1000U);
  full_ = true;
  EXPECT_FALSE(give(6, 0, 400, 1000).or_exit().has_value());
  EXPECT_EQ(assembly_.held_bytes(), 1000U);
  full_ = false;
  const auto dropped = give(6, 400, 600, 1000).or_exit();
  ASSERT_TRUE(dropped.has_value());
  EXPECT_EQ(dropped->header.bytes, 1000U);
  EXPECT_EQ(dropped->payload.size(), 0U);
  EXPECT_TRUE(holds(give(5, 400, 600, 1000).or_exit()->payload, 1000));
  EXPECT_EQ(assembly_.held_bytes(), 0U);
  EXPECT_FALSE(give(9, 0, 400, 1000).or_exit().has_value());
  EXPECT_FALSE(give(9, 0, 0, 1000, wire::kAbandoned).or_exit().has_value());
  EXPECT_EQ(assembly_.held_bytes(), 0U);
}

TEST_F(ReassemblyTest, SlicesBecomeTheFrameAsIfItHadComeAtOnce) {
  EXPECT_FALSE(give(5, 0, 400, 1000).or_exit().has_value());
  EXPECT_FALSE(give(5, 400, 500, 1000).or_exit().has_value());
  const auto whole = give(5, 900, 100, 1000).or_exit();
  ASSERT_TRUE(whole.has_value());
  EXPECT_EQ(whole->header.kind, wire::Kind::kPush);
  EXPECT_EQ(whole->header.version, 77U);
  EXPECT_EQ(whole->header.bytes, 1000U);
  EXPECT_EQ(whole->header.total, 0U);
  EXPECT_EQ(whole->header.push_sequence, 9U) << "of the last slice: pushes count as they end";
  EXPECT_EQ(whole->header.priority, 900) << "of the last slice too: it may have changed";
  EXPECT_EQ(whole->header.deadline, 901U);
  EXPECT_TRUE(holds(whole->payload, 1000));
  EXPECT_TRUE(whole->payload.exclusive());
  EXPECT_EQ(assembly_.begun(), 0U);
}

TEST_F(ReassemblyTest, FramesMayOvertakeOneAnother) {
  EXPECT_FALSE(give(1, 0, 100, 1000).or_exit().has_value());
  EXPECT_FALSE(give(2, 0, 100, 300).or_exit().has_value());
  EXPECT_EQ(assembly_.begun(), 2U);
  EXPECT_TRUE(holds(give(2, 100, 200, 300).or_exit()->payload, 300));
  EXPECT_TRUE(holds(give(1, 100, 900, 1000).or_exit()->payload, 1000));
}

TEST_F(ReassemblyTest, SlicesLandWhereTheyAreWanted) {
  std::vector<std::byte> target(1000);
  place_ = target;
  EXPECT_FALSE(give(1, 0, 600, 1000).or_exit().has_value());
  EXPECT_EQ(std::memcmp(target.data(), bytes_.data(), 600), 0);
  const auto whole = give(1, 600, 400, 1000).or_exit();
  EXPECT_EQ(whole->payload.data(), target.data());
  EXPECT_TRUE(holds(whole->payload, 1000));
}

TEST_F(ReassemblyTest, MemoryThatWasTakenBackIsNotWrittenTo) {
  std::vector<std::byte> target(1000, std::byte{0x11});
  place_ = target;
  EXPECT_FALSE(give(1, 0, 100, 1000).or_exit().has_value());
  place_ = {};
  EXPECT_FALSE(give(1, 100, 800, 1000).or_exit().has_value());
  place_ = target;  // Belongs to another frame by now.
  const auto whole = give(1, 900, 100, 1000).or_exit();
  ASSERT_TRUE(whole.has_value()) << "that it came is told";
  EXPECT_TRUE(whole->payload.empty());
  EXPECT_EQ(target[100], std::byte{0x11});
  EXPECT_EQ(target[999], std::byte{0x11});
  EXPECT_EQ(assembly_.begun(), 0U);
}

TEST_F(ReassemblyTest, APlaceOfAnotherSizeIsNotUsed) {
  std::vector<std::byte> target(999);
  place_ = target;
  EXPECT_FALSE(give(1, 0, 100, 1000).or_exit().has_value());
  EXPECT_NE(give(1, 100, 900, 1000).or_exit()->payload.data(), target.data());
}

TEST_F(ReassemblyTest, AnAbandonedFrameIsForgotten) {
  EXPECT_FALSE(give(1, 0, 100, 1000).or_exit().has_value());
  EXPECT_FALSE(give(1, 100, 0, 1000, wire::kAbandoned).or_exit().has_value());
  EXPECT_EQ(assembly_.begun(), 0U);
}

TEST_F(ReassemblyTest, MismatchedSliceIsMalformed) {
  EXPECT_EQ(give(3, 100, 100, 1000).status().code(), Code::kMalformed) << "never begun";
  EXPECT_FALSE(give(1, 0, 100, 1000).or_exit().has_value());
  EXPECT_EQ(give(1, 200, 100, 1000).status().code(), Code::kMalformed) << "a gap";
  EXPECT_EQ(give(1, 50, 100, 1000).status().code(), Code::kMalformed) << "an overlap";
  EXPECT_EQ(give(1, 100, 100, 900).status().code(), Code::kMalformed) << "another size";
}

TEST_F(ReassemblyTest, BeginningsAreBounded) {
  for (std::uint64_t i = 1; i <= wire::kMaxBegun; ++i) {
    EXPECT_FALSE(give(i, 0, 10, 1000).or_exit().has_value());
  }
  EXPECT_EQ(give(500, 0, 10, 1000).status().code(), Code::kMalformed);
  Reassembly fresh;
  wire::Header header;
  header.kind = wire::Kind::kPush;
  header.sequence = 1;
  header.bytes = 10;
  header.total = wire::kMaxWholeBytes + 1;
  const auto none = [](const wire::Header&) { return std::span<std::byte>(); };
  EXPECT_EQ(fresh.take(header, Buffer::allocate(10), none, Buffer::allocate).status().code(),
            Code::kMalformed);
}

}  // namespace
}  // namespace stretto

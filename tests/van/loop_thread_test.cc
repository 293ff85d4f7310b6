// SPDX-License-Identifier: Apache-2.0
// Requests to a loop that has ended.
#include "van/event_loop/loop_thread.h"

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "common/clock.h"

namespace stretto {
namespace {

/// A node that is over at once, and counts requests without a lock of its own.
struct BriefNode {
  struct Nobody {
    void wake() {}
  };
  const BriefNode& van() const { return *this; }
  std::shared_ptr<Nobody> waker() const { return std::make_shared<Nobody>(); }
  bool idle() const { return true; }
  bool over() const { return true; }
  void step(Duration) {}
  Time next_due() const { return Time(); }
  void abandon() {}

  std::uint64_t asked = 0;
};

// Gives other threads every chance to interleave.
void count_slowly(BriefNode& node) {
  const std::uint64_t seen = node.asked;
  std::this_thread::yield();
  node.asked = seen + 1;
}

TEST(LoopThread, RequestsAfterItsEndAreOneAtATime) {
  constexpr std::uint64_t kEach = 500;
  constexpr std::uint64_t kThreads = 4;
  const SteadyClock clock;
  BriefNode node;
  LoopThread<BriefNode> loop(node, clock);
  ASSERT_TRUE(loop.start().ok());
  loop.join();
  std::atomic<std::uint64_t> ready{0};
  std::vector<std::jthread> threads;
  for (std::uint64_t i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      ++ready;
      while (ready < kThreads) continue;
      for (std::uint64_t j = 0; j < kEach; ++j) loop.post(count_slowly);
    });
  }
  threads.clear();
  EXPECT_EQ(node.asked, kThreads * kEach);
}

TEST(LoopThread, ARequestAfterItsEndMayMakeAnother) {
  const SteadyClock clock;
  BriefNode node;
  LoopThread<BriefNode> loop(node, clock);
  ASSERT_TRUE(loop.start().ok());
  loop.join();
  loop.post([&loop](BriefNode&) { loop.post([](BriefNode& here) { ++here.asked; }); });
  EXPECT_EQ(node.asked, 1U);
}

}  // namespace
}  // namespace stretto

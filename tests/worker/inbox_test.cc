// SPDX-License-Identifier: Apache-2.0
// The one queue between threads: nothing is lost, nothing comes twice, and a closed one says so.
#include "worker/inbox.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace stretto {
namespace {

Inbox::Posted post(Inbox& inbox, Inbox::Request request) { return inbox.post(request); }

TEST(Inbox, OnlyTheFirstPostAsksForAWake) {
  Inbox inbox;
  EXPECT_EQ(post(inbox, [](WorkerNode&) {}), Inbox::Posted::kFirst);
  EXPECT_EQ(post(inbox, [](WorkerNode&) {}), Inbox::Posted::kMore);
  EXPECT_EQ(inbox.take().size(), 2U);
  EXPECT_EQ(post(inbox, [](WorkerNode&) {}), Inbox::Posted::kFirst);
  EXPECT_EQ(inbox.take().size(), 1U);
  EXPECT_TRUE(inbox.take().empty());
}

TEST(Inbox, AClosedOneGivesBackWhatItHeldAndTakesNothing) {
  Inbox inbox;
  post(inbox, [](WorkerNode&) {});
  EXPECT_EQ(inbox.close().size(), 1U);
  Inbox::Request request = [](WorkerNode&) {};
  EXPECT_EQ(inbox.post(request), Inbox::Posted::kClosed);
  EXPECT_TRUE(request) << "the caller keeps what was not taken";
  EXPECT_TRUE(inbox.take().empty());
}

/// Each thread's requests come out once and in its order, and somebody always asks for a wake.
TEST(Inbox, ManyThreadsMayPostWhileOneTakes) {
  constexpr int kThreads = 4;
  constexpr int kPosts = 2000;
  Inbox inbox;
  std::atomic<int> wakes{0};
  std::vector<std::vector<int>> seen(kThreads);
  std::vector<std::jthread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      for (int i = 0; i < kPosts; ++i) {
        const auto posted = post(inbox, [&seen, thread, i](WorkerNode&) {
          seen[static_cast<std::size_t>(thread)].push_back(i);
        });
        if (posted == Inbox::Posted::kFirst) {
          ++wakes;
          wakes.notify_one();
        }
      }
    });
  }
  // A request is handed the node, which these do not look at.
  alignas(std::max_align_t) std::byte no_node[1] = {};
  WorkerNode& node = *reinterpret_cast<WorkerNode*>(no_node);
  for (int taken = 0, woken = 0; taken < kThreads * kPosts;) {
    wakes.wait(woken);
    woken = wakes.load();
    for (Inbox::Request& request : inbox.take()) {
      request(node);
      ++taken;
    }
  }
  threads.clear();
  for (const std::vector<int>& numbers : seen) {
    ASSERT_EQ(numbers.size(), static_cast<std::size_t>(kPosts));
    for (int i = 0; i < kPosts; ++i) ASSERT_EQ(numbers[static_cast<std::size_t>(i)], i);
  }
}

}  // namespace
}  // namespace stretto

// SPDX-License-Identifier: Apache-2.0
// The one queue between threads: nothing is lost, nothing comes twice, and a closed one says so.
#include "van/inbox.h"

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <thread>
#include <vector>

namespace stretto {
namespace {

struct Nobody {};
using Request = std::function<void(Nobody&)>;
using NodeInbox = Inbox<Request>;

NodeInbox::Posted post(NodeInbox& inbox, Request request) { return inbox.post(request); }

TEST(Inbox, OnlyALoopThatFoundNothingIsWoken) {
  NodeInbox inbox;
  EXPECT_EQ(post(inbox, [](Nobody&) {}), NodeInbox::Posted::kMore);
  EXPECT_EQ(inbox.take().size(), 1U);
  EXPECT_EQ(post(inbox, [](Nobody&) {}), NodeInbox::Posted::kMore) << "it looks again";
  EXPECT_EQ(inbox.take().size(), 1U);
  EXPECT_TRUE(inbox.take().empty());
  EXPECT_EQ(post(inbox, [](Nobody&) {}), NodeInbox::Posted::kFirst);
  EXPECT_EQ(post(inbox, [](Nobody&) {}), NodeInbox::Posted::kMore);
  EXPECT_EQ(inbox.take().size(), 2U);
}

TEST(Inbox, AClosedOneGivesBackWhatItHeldAndTakesNothing) {
  NodeInbox inbox;
  post(inbox, [](Nobody&) {});
  EXPECT_EQ(inbox.close().size(), 1U);
  Request request = [](Nobody&) {};
  EXPECT_EQ(inbox.post(request), NodeInbox::Posted::kClosed);
  EXPECT_TRUE(static_cast<bool>(request)) << "the caller keeps what was not taken";
  EXPECT_TRUE(inbox.take().empty());
}

/// Each thread's requests come out once and in its order, and somebody always asks for a wake.
TEST(Inbox, ManyThreadsMayPostWhileOneTakes) {
  constexpr int kThreads = 4;
  constexpr int kPosts = 2000;
  NodeInbox inbox;
  std::atomic<int> wakes{0};
  std::vector<std::vector<int>> seen(kThreads);
  std::vector<std::jthread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      for (int i = 0; i < kPosts; ++i) {
        const auto posted = post(inbox, [&seen, thread, i](Nobody&) {
          seen[static_cast<std::size_t>(thread)].push_back(i);
        });
        if (posted == NodeInbox::Posted::kFirst) {
          ++wakes;
          wakes.notify_one();
        }
      }
    });
  }
  Nobody node;
  for (int taken = 0, woken = 0; taken < kThreads * kPosts;) {
    const std::vector<Request> requests = inbox.take();
    for (const Request& request : requests) request(node);
    taken += static_cast<int>(requests.size());
    if (!requests.empty() || taken == kThreads * kPosts) continue;
    wakes.wait(woken);
    woken = wakes.load();
  }
  threads.clear();
  for (const std::vector<int>& numbers : seen) {
    ASSERT_EQ(numbers.size(), static_cast<std::size_t>(kPosts));
    for (int i = 0; i < kPosts; ++i) ASSERT_EQ(numbers[static_cast<std::size_t>(i)], i);
  }
}

}  // namespace
}  // namespace stretto

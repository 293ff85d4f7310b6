// SPDX-License-Identifier: Apache-2.0
// Requests between threads: none is lost or duplicated, and a closed inbox refuses them.
#include "van/event_loop/loop_inbox.h"

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <thread>
#include <vector>

namespace stretto {
namespace {

using NodeRequest = std::function<void()>;
using NodeInbox = LoopInbox<NodeRequest>;

bool post(NodeInbox& inbox, NodeRequest request) { return inbox.post(request); }

TEST(LoopInbox, OnlyADriverThatFoundNothingIsWoken) {
  int wakes = 0;
  NodeInbox inbox([&wakes] { ++wakes; });
  std::vector<NodeRequest> requests;
  EXPECT_TRUE(post(inbox, [] {}));
  ASSERT_TRUE(inbox.own_drives(requests));
  EXPECT_EQ(std::exchange(requests, {}).size(), 1U);
  EXPECT_TRUE(post(inbox, [] {}));
  EXPECT_EQ(wakes, 0) << "it looks again";
  ASSERT_TRUE(inbox.own_drives(requests));
  EXPECT_EQ(std::exchange(requests, {}).size(), 1U);
  ASSERT_TRUE(inbox.own_drives(requests));
  EXPECT_TRUE(requests.empty());
  EXPECT_TRUE(post(inbox, [] {}));
  EXPECT_TRUE(post(inbox, [] {}));
  EXPECT_EQ(wakes, 1);
  ASSERT_TRUE(inbox.own_drives(requests));
  EXPECT_EQ(requests.size(), 2U);
}

TEST(LoopInbox, ClosedInboxReturnsHeldAndAcceptsNone) {
  NodeInbox inbox([] {});
  post(inbox, [] {});
  EXPECT_EQ(inbox.close().size(), 1U);
  NodeRequest request = [] {};
  EXPECT_FALSE(inbox.post(request));
  EXPECT_TRUE(static_cast<bool>(request)) << "the caller keeps what was not taken";
  EXPECT_TRUE(inbox.close().empty());
}

TEST(LoopInbox, OffersWaiterLoopDrivenByOwnThread) {
  int wakes = 0;
  NodeInbox inbox([&wakes] { ++wakes; });
  std::vector<NodeRequest> requests;
  ASSERT_TRUE(inbox.own_drives(requests));
  Parker waiter;
  EXPECT_FALSE(inbox.ask(waiter));
  EXPECT_EQ(wakes, 1) << "the own thread may sleep in its poll";
  const std::jthread own([&inbox] {
    std::vector<NodeRequest> none;
    while (inbox.own_drives(none)) continue;  // A late waiter is offered the loop again.
  });
  while (!inbox.ask(waiter)) waiter.park_until(Time::max());
  EXPECT_TRUE(inbox.drives_on(requests));
  inbox.stop();
  EXPECT_FALSE(inbox.drives_on(requests));
  inbox.leave(NodeInbox::Hands::State::kBusy);
}

/// Each thread's requests come out once and in order, and a thread always requests a wake.
TEST(LoopInbox, ManyThreadsMayPostWhileOneTakes) {
  constexpr int kThreads = 4;
  constexpr int kPosts = 2000;
  std::atomic<int> wakes{0};
  NodeInbox inbox([&wakes] {
    ++wakes;
    wakes.notify_one();
  });
  std::vector<std::vector<int>> seen(kThreads);
  std::vector<std::jthread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      for (int i = 0; i < kPosts; ++i) {
        post(inbox, [&seen, thread, i] { seen[static_cast<std::size_t>(thread)].push_back(i); });
      }
    });
  }
  for (int taken = 0, woken = 0; taken < kThreads * kPosts;) {
    std::vector<NodeRequest> requests;
    ASSERT_TRUE(inbox.own_drives(requests));
    for (const NodeRequest& request : requests) request();
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

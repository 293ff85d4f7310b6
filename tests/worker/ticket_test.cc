// SPDX-License-Identifier: Apache-2.0
// Tickets end once, for all waiters and callbacks, from any number of threads.
#include "worker/operations/ticket.h"

#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <string>
#include <thread>

#include "common/log.h"

namespace stretto {
namespace {

using detail::TicketState;

const Status kLost(Code::kPeerLost, "worker 1 is lost");

std::pair<Ticket, std::shared_ptr<TicketState>> make_ticket(std::size_t operations = 1) {
  auto state = std::make_shared<TicketState>(operations);
  return {Ticket(state), state};
}

TEST(Ticket, OneThatWasNeverStartedHasEndedWell) {
  const Ticket ticket;
  EXPECT_TRUE(ticket.done());
  EXPECT_TRUE(ticket.wait().ok());
  EXPECT_TRUE(ticket.wait_for(0s).ok());
  int told = 0;
  ticket.on_done([&told](const Status& status) { told += status.ok() ? 1 : 100; });
  EXPECT_EQ(told, 1);
}

TEST(Ticket, OneThatEndedBeforeItWasGivenCarriesItsError) {
  const Ticket ticket = detail::ended_ticket(kLost);
  EXPECT_TRUE(ticket.done());
  EXPECT_EQ(ticket.wait(), kLost);
}

TEST(Ticket, EndsWhenItsOperationDoes) {
  const auto [ticket, state] = make_ticket();
  EXPECT_FALSE(ticket.done());
  state->end_one({}, {.version = 3});
  EXPECT_TRUE(ticket.done());
  EXPECT_TRUE(ticket.wait().ok());
  EXPECT_EQ(ticket.info().version, 3U);
}

TEST(Ticket, WaitForGivesUpAndTheOperationGoesOn) {
  const auto [ticket, state] = make_ticket();
  EXPECT_EQ(ticket.wait_for(1ms).code(), Code::kTimeout);
  EXPECT_FALSE(ticket.done());
  state->end_one(kLost, {});
  EXPECT_EQ(ticket.wait_for(0ms), kLost);
}

TEST(Ticket, AGroupEndsWithItsLastAndKeepsTheFirstError) {
  const auto [ticket, state] = make_ticket(3);
  int told = 0;
  ticket.on_done([&told](const Status& status) {
    ++told;
    EXPECT_EQ(status, kLost);
  });
  state->end_one({}, {});
  state->end_one(kLost, {});
  EXPECT_FALSE(ticket.done()) << "memory of the others is still in use";
  EXPECT_EQ(told, 0);
  state->end_one({Code::kTimeout, "later"}, {});
  EXPECT_TRUE(ticket.done());
  EXPECT_EQ(ticket.wait(), kLost);
  EXPECT_EQ(told, 1);
}

TEST(Ticket, AGroupsInfoIsOfItsOldestAndMostSpread) {
  const auto [ticket, state] = make_ticket(2);
  state->end_one({}, {.version = 5, .staleness = 1, .applied = 4, .slowest = 3, .spread = 2});
  state->end_one({}, {.version = 4, .staleness = 2, .applied = 5, .slowest = 2, .spread = 1});
  const ValueInfo info = ticket.info();
  EXPECT_EQ(info.version, 4U);
  EXPECT_EQ(info.staleness, 2U);
  EXPECT_EQ(info.applied, 4U);
  EXPECT_EQ(info.slowest, 2U);
  EXPECT_EQ(info.spread, 2U);
}

TEST(Ticket, CallbacksRunInOrderAndMayAskTheTicket) {
  const auto [ticket, state] = make_ticket();
  std::vector<int> told;
  for (int i = 0; i < 3; ++i) {
    ticket.on_done([&told, i, copy = ticket](const Status&) {
      EXPECT_TRUE(copy.done());
      EXPECT_TRUE(copy.wait().ok());
      copy.on_done([&told, i](const Status&) { told.push_back(10 * i + 1); });
      told.push_back(10 * i);
    });
  }
  state->end_one({}, {});
  EXPECT_EQ(told, (std::vector<int>{1, 0, 11, 10, 21, 20}));
}

TEST(Ticket, ThrowingCallbackSparesLoop) {
  auto state = std::make_shared<TicketState>(1);
  int told = 0;
  state->on_done([](const Status&) { (void)std::stoi("no number"); });
  state->on_done([&told](const Status& status) { told += status.ok() ? 1 : 100; });
  set_log_level(Level::kSilent);
  EXPECT_NO_THROW(state->end_one({}, {}));
  set_log_level(Level::kWarning);
  EXPECT_EQ(told, 1) << "the others are told all the same";
  EXPECT_TRUE(state->wait().ok());
}

TEST(Ticket, ItsStateOutlivesItsCaller) {
  std::shared_ptr<TicketState> state;
  {
    auto [ticket, kept] = make_ticket();
    state = kept;
  }
  state->end_one({}, {});
  EXPECT_TRUE(state->done());
}

/// Waiters, callbacks and the end race: each gets one result, and all get the same.
TEST(Ticket, EndsOnceForAllThreads) {
  constexpr int kThreads = 4;
  for (int round = 0; round < 500; ++round) {
    const auto [ticket, state] = make_ticket(2);
    std::latch together(kThreads + 2);
    std::atomic<int> told{0};
    std::atomic<int> wrong{0};
    std::vector<std::jthread> threads;
    for (int i = 0; i < kThreads; ++i) {
      threads.emplace_back([&, copy = ticket, i] {
        together.arrive_and_wait();
        copy.on_done([&](const Status& status) {
          ++told;
          if (!(status == kLost)) ++wrong;
        });
        const Status status = i % 2 == 0 ? copy.wait() : copy.wait_for(60s);
        if (!(status == kLost) || !copy.done()) ++wrong;
      });
    }
    for (const Status& status : {kLost, Status()}) {
      threads.emplace_back([&together, status, copy = state] {
        together.arrive_and_wait();
        copy->end_one(status, {});
      });
    }
    threads.clear();
    ASSERT_EQ(told, kThreads);
    ASSERT_EQ(wrong, 0);
  }
}

}  // namespace
}  // namespace stretto

// SPDX-License-Identifier: Apache-2.0
// Operations whose callers change their minds, against a shard played by hand.
#include "worker/exchange/operation_control.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/worker/exchanges_fixture.h"

namespace stretto {
namespace {

using testing::ElementsAre;

class SteeringTest : public fake::ExchangeTest {};

TEST_F(SteeringTest, UnsentPushCancelsButBegunPushDoesNot) {
  add(1, 5);
  van_.set_windows(1, 1);
  const OperationPtr first = push_pull(1, source_, target_);
  Floats other(5);
  const OperationPtr waiting = push_pull(1, source_, other);
  exchange_.steer(waiting, {.kind = detail::Change::Kind::kCancel});
  expect_failed(waiting, Code::kCancelled, "cancelled");
  exchange_.steer(first, {.kind = detail::Change::Kind::kCancel});
  EXPECT_FALSE(first->ticket->done()) << "it has begun: the others count on it";
}

TEST_F(SteeringTest, ACancelledPullLeavesItsMemoryAlone) {
  add(1, 5);
  const OperationPtr pull = start(Kind::kPull, 1, nullptr, &target_);
  ASSERT_EQ(shard_.data().size(), 3U);
  exchange_.steer(pull, {.kind = detail::Change::Kind::kCancel});
  expect_failed(pull, Code::kCancelled, "cancelled");
  value({1, 0}, 1, {8, 9});
  EXPECT_EQ(target_, Floats(5));
  Floats again(5);
  const OperationPtr next = start(Kind::kPull, 1, nullptr, &again);
  EXPECT_EQ(shard_.data().size(), 1U) << "parts whose answer is still to come wait for it";
  value({1, 1}, 1, {8, 9});
  value({1, 2}, 1, {8});
  EXPECT_EQ(shard_.data().size(), 2U);
  value({1, 0}, 2, {1, 2});
  value({1, 1}, 2, {3, 4});
  value({1, 2}, 2, {5});
  EXPECT_TRUE(next->ticket->done());
  EXPECT_EQ(again, (Floats{1, 2, 3, 4, 5}));
}

TEST_F(SteeringTest, CancelledPullDoesNotBlockWaitingShare) {
  add(1, 2);
  source_.resize(2);
  target_.resize(2);
  const OperationPtr pull = start(Kind::kPull, 1, nullptr, &target_);
  (void)shard_.datum();
  Floats pushed(2), pulled(2);
  const OperationPtr share = push_pull(1, source_, pushed);
  EXPECT_TRUE(shard_.data().empty()) << "it waits for the pull";
  exchange_.steer(pull, {.kind = detail::Change::Kind::kCancel});
  step();
  EXPECT_EQ(shard_.datum().header.kind, wire::Kind::kPush);
  const OperationPtr next = start(Kind::kPull, 1, nullptr, &pulled);
  value({1, 0}, 1, {8, 9});  // To the cancelled one.
  EXPECT_FALSE(share->ticket->done());
  EXPECT_TRUE(exchange_.servers().landing(value_header({1, 0}, 1)).size() == 8) << "of the share";
  wire::Header answer = value_header({1, 0}, 1);
  answer.flags = wire::kWantsValue;
  shard_.send(answer, fake::bytes_of({5, 6}));
  step();
  EXPECT_TRUE(share->ticket->done());
  EXPECT_THAT(pushed, ElementsAre(5, 6));
  value({1, 0}, 1, {5, 6});
  EXPECT_TRUE(next->ticket->done());
  EXPECT_EQ(target_, Floats(2));
}

TEST_F(SteeringTest, ACancelledPullsAnswerLandsNowhere) {
  add(1, 2);
  source_.resize(2);
  target_.resize(2);
  const OperationPtr pull = start(Kind::kPull, 1, nullptr, &target_);
  exchange_.steer(pull, {.kind = detail::Change::Kind::kCancel});
  const OperationPtr share = push_pull(1, source_, target_);
  EXPECT_TRUE(exchange_.servers().landing(value_header({1, 0}, 1)).empty());
  wire::Header answer = value_header({1, 0}, 1);
  answer.flags = wire::kWantsValue;
  EXPECT_EQ(exchange_.servers().landing(answer).size(), 8U);
}

TEST_F(SteeringTest, FaultForCancelledPullSparesNextPull) {
  add(1, 2);
  source_.resize(2);
  target_.resize(2);
  const OperationPtr pull = start(Kind::kPull, 1, nullptr, &target_);
  exchange_.steer(pull, {.kind = detail::Change::Kind::kCancel});
  const OperationPtr next = start(Kind::kPull, 1, nullptr, &target_);
  (void)shard_.data();
  exchange_.servers().on_fault({1, 0}, {Code::kTimeout, "waited 300 s for worker 1"});
  EXPECT_FALSE(next->ticket->done());
  EXPECT_EQ(shard_.data().size(), 0U);
  step();
  EXPECT_EQ(shard_.datum().header.kind, wire::Kind::kPull) << "now it may ask";
  exchange_.servers().on_fault({1, 0}, {Code::kTimeout, "waited 300 s for worker 1"});
  expect_failed(next, Code::kTimeout, "waited 300 s");
}

TEST_F(SteeringTest, PausedOperationHoldsBackUnsentParts) {
  add(1, 5);
  van_.set_windows(1, 1);
  const OperationPtr operation = push_pull(1, source_, target_);
  const std::size_t left = shard_.data().size();
  EXPECT_LT(left, 3U);
  exchange_.steer(operation, {.kind = detail::Change::Kind::kPause});
  van_.set_windows(1 << 20, 1 << 20);
  step();
  EXPECT_EQ(shard_.data().size(), 0U);
  exchange_.steer(operation, {.kind = detail::Change::Kind::kPriority, .priority = 7});
  exchange_.steer(operation, {.kind = detail::Change::Kind::kResume});
  step();
  const auto rest = shard_.data();
  EXPECT_EQ(rest.size(), 3U - left);
  EXPECT_EQ(rest.back().header.priority, 7);
}

TEST_F(SteeringTest, EndedOperationIgnoresCancel) {
  add(1, 2);
  source_.resize(2);
  target_.resize(2);
  const OperationPtr operation = push_pull(1, source_, target_);
  value({1, 0}, 1, {5, 6});
  ASSERT_TRUE(operation->ticket->done());
  exchange_.steer(operation, {.kind = detail::Change::Kind::kCancel});
  EXPECT_FALSE(operation->cancelled);
}

}  // namespace
}  // namespace stretto

// SPDX-License-Identifier: Apache-2.0
// Pulls and pushes that pass one another, probes, and what is told of each part.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/worker/exchanges_fixture.h"
#include "worker/exchange/exchange_dispatcher.h"

namespace stretto {
namespace {

using fake::bytes_of;
using fake::ExchangeTest;
using testing::ElementsAre;

class EagerExchangeTest : public ExchangeTest {
 protected:
  static constexpr wire::Key kFirst{1, 0};
  static constexpr wire::Key kSecond{1, 1};

  EagerExchangeTest() {
    source_.resize(4);
    target_.resize(4);
  }
  void pulled(wire::Key key, std::uint64_t version, std::uint64_t applied, const Floats& numbers) {
    wire::Header header = value_header(key, version);
    header.own_applied = applied;
    shard_.send(header, bytes_of(numbers));
    step();
  }
  void pushed_and_pulled(wire::Key key, std::uint64_t version, const Floats& numbers) {
    wire::Header header = value_header(key, version);
    header.flags = wire::kWantsValue;
    header.own_applied = version;
    shard_.send(header, bytes_of(numbers));
    step();
  }
  void probed(wire::Key key, std::uint64_t version, std::uint64_t applied) {
    wire::Header header = value_header(key, version);
    header.kind = wire::Kind::kDone;
    header.flags = wire::kProbe;
    header.dtype = 0;
    header.own_applied = applied;
    shard_.send(header);
    step();
  }
};

TEST_F(EagerExchangeTest, APullDoesNotWaitForAPushNorAPushForAPull) {
  add(1, 2, {.mode = Mode::kEagerAsync});
  source_.resize(2);
  target_.resize(2);
  const auto push = start(Kind::kPush, 1, &source_, nullptr);
  const auto pull = start(Kind::kPull, 1, nullptr, &target_);
  const auto next = start(Kind::kPush, 1, &source_, nullptr);
  const auto sent = shard_.data();
  ASSERT_EQ(sent.size(), 2U) << "at most one outstanding push a part";
  EXPECT_EQ(sent[0].header.kind, wire::Kind::kPush);
  EXPECT_EQ(sent[1].header.kind, wire::Kind::kPull);
  EXPECT_EQ(wire::PullFrame::of(sent[1].header).least_version, 0U) << "it takes what is there";
  pulled(kFirst, 7, 0, {3, 4});
  EXPECT_TRUE(pull->ticket->done());
  EXPECT_FALSE(push->ticket->done());
  EXPECT_THAT(target_, ElementsAre(3, 4));
  EXPECT_EQ(pull->ticket->info().applied, 0U) << "the push is not in it";
  ack(1);
  EXPECT_TRUE(push->ticket->done());
  EXPECT_EQ(wire::PushFrame::of(shard_.datum().header).round, 2U);
  EXPECT_FALSE(next->ticket->done());
}

TEST_F(EagerExchangeTest, TheAnswersToAPushAndAPullAreToldApart) {
  add(1, 2, {.mode = Mode::kEagerAsync});
  source_.resize(2);
  Floats of_push(2);
  Floats of_pull(2);
  const auto push = push_pull(1, source_, of_push);
  const auto pull = start(Kind::kPull, 1, nullptr, &of_pull);
  pulled(kFirst, 4, 0, {1, 2});
  pushed_and_pulled(kFirst, 5, {5, 6});
  EXPECT_TRUE(push->ticket->done());
  EXPECT_TRUE(pull->ticket->done());
  EXPECT_THAT(of_pull, ElementsAre(1, 2));
  EXPECT_THAT(of_push, ElementsAre(5, 6));
}

TEST_F(EagerExchangeTest, EagerRoundsKeepTheOrderOfSync) {
  add(1, 2, {.mode = Mode::kEager});
  source_.resize(2);
  target_.resize(2);
  start(Kind::kPush, 1, &source_, nullptr);
  start(Kind::kPush, 1, &source_, nullptr);
  start(Kind::kPull, 1, nullptr, &target_);
  EXPECT_EQ(shard_.data().size(), 1U);
  ack(1);
  EXPECT_TRUE(shard_.data().empty()) << "the round goes on";
  done(kFirst, 1);
  EXPECT_EQ(wire::PushFrame::of(shard_.datum().header).round, 2U);
}

TEST_F(EagerExchangeTest, EachPartReportsOwnInfo) {
  add(1, 4, {.mode = Mode::kEagerAsync});
  const auto pull = start(Kind::kPull, 1, nullptr, &target_);
  pulled(kSecond, 9, 2, {1, 1});
  pulled(kFirst, 6, 1, {1, 1});
  const std::vector<PartInfo> parts = pull->ticket->parts();
  ASSERT_EQ(parts.size(), 2U);
  EXPECT_EQ(parts[0].offset, kPartBytes);
  EXPECT_EQ(parts[0].bytes, kPartBytes);
  EXPECT_EQ(parts[0].info.applied, 2U);
  EXPECT_EQ(parts[0].info.staleness, 7U) << "nine versions, two of them ours";
  EXPECT_EQ(parts[1].offset, 0U);
  EXPECT_EQ(parts[1].info.version, 6U);
  EXPECT_EQ(pull->ticket->info().version, 6U) << "the oldest";
  EXPECT_EQ(pull->ticket->info().staleness, 7U) << "the most";
}

TEST_F(EagerExchangeTest, OtherModesKeepNothingOfEachPart) {
  add(1, 4);
  const auto both = push_pull(1, source_, target_);
  value(kFirst, 1, {1, 1});
  value(kSecond, 1, {1, 1});
  EXPECT_TRUE(both->ticket->done());
  EXPECT_TRUE(both->ticket->parts().empty());
}

TEST_F(EagerExchangeTest, ProbeAsksOnePartPerShardAndOvertakes) {
  add(1, 4, {.mode = Mode::kAsync});
  const auto both = push_pull(1, source_, target_);
  (void)shard_.data();
  const auto probe = start(Kind::kProbe, 1, nullptr, nullptr);
  const fake::Sent sent = shard_.datum();
  EXPECT_EQ(sent.header.kind, wire::Kind::kPull);
  EXPECT_EQ(sent.header.flags, wire::kProbe);
  EXPECT_EQ(sent.header.key, kFirst);
  EXPECT_GT(sent.header.priority, 1000);
  probed(kFirst, 6, 0);
  EXPECT_TRUE(probe->ticket->done());
  EXPECT_EQ(probe->ticket->info().staleness, 6U);
  EXPECT_FALSE(both->ticket->done());
}

TEST_F(EagerExchangeTest, ProbeReportsStalenessSinceLastValue) {
  add(1, 2, {.mode = Mode::kEagerAsync});
  target_.resize(2);
  start(Kind::kPull, 1, nullptr, &target_);
  pulled(kFirst, 5, 1, {1, 1});
  for (int i = 0; i < 2; ++i) {
    const auto probe = start(Kind::kProbe, 1, nullptr, nullptr);
    probed(kFirst, 9, 2);
    EXPECT_EQ(probe->ticket->info().staleness, 3U) << "a probe is no value";
  }
}

TEST_F(EagerExchangeTest, IgnoresUnrequestedAnswers) {
  add(1, 2, {.mode = Mode::kEagerAsync});
  probed(kFirst, 5, 1);
  pulled(kFirst, 5, 1, {1, 1});
  pushed_and_pulled(kFirst, 5, {1, 1});
  EXPECT_TRUE(exchange_.operations().idle());
}

TEST_F(EagerExchangeTest, ACancelledPullKeepsItsLaneAndNotThatOfPushes) {
  add(1, 2, {.mode = Mode::kEagerAsync});
  source_.resize(2);
  target_.resize(2);
  const auto pull = start(Kind::kPull, 1, nullptr, &target_);
  (void)shard_.data();
  exchange_.steer(pull, {.kind = detail::Change::Kind::kCancel});
  expect_failed(pull, Code::kCancelled, "cancelled");
  Floats again(2);
  const auto next = start(Kind::kPull, 1, nullptr, &again);
  EXPECT_TRUE(shard_.data().empty()) << "the answer that is still to come would be taken for its";
  start(Kind::kPush, 1, &source_, nullptr);
  EXPECT_EQ(shard_.datum().header.kind, wire::Kind::kPush);
  pulled(kFirst, 1, 0, {8, 9});
  EXPECT_EQ(shard_.datum().header.kind, wire::Kind::kPull);
  pulled(kFirst, 2, 0, {1, 2});
  EXPECT_TRUE(next->ticket->done());
  EXPECT_THAT(target_, ElementsAre(0, 0));
  EXPECT_THAT(again, ElementsAre(1, 2));
}

}  // namespace
}  // namespace stretto

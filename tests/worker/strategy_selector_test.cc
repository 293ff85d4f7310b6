// SPDX-License-Identifier: Apache-2.0
// Strategies of tensors: the choice by workers' reports on their links, and refused plans.
#include "worker/peer_path/strategy_selector.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/van/far_end.h"
#include "tests/van/recorder.h"

namespace stretto {
namespace {

using collective::Primitive;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr double kRate = 1e8;

/// One tensor of 64 parts among four workers, nodes 10 to 13, each on its own machine.
class StrategySelectorTest : public testing::Test {
 protected:
  explicit StrategySelectorTest(collective::Place self = 1) {
    const TensorSpec spec{
        .name = "t", .elements = 4 << 20, .options = {.exchange = Exchange::kAuto}};
    const Cut cut(spec, 256 << 10);
    tensors_.add(1, spec, cut, std::vector<LinkId>(cut.parts()));
    Participants places{
        .nodes = {10, 11, 12, 13}, .ranks = {0, 1, 2, 3}, .machines = {0, 1, 2, 3}, .self = self};
    plans_.watch(places);
    const collective::Strategy strategy = *plans_.strategy_for({}, places);
    known_.emplace(tensor(), std::move(places), strategy);
    known_->terms.emplace(collective::StrategyPlan(), strategy);
  }
  TensorState& tensor() { return *tensors_.find(1); }
  /// As if `rounds` rounds were complete.
  void finish(std::uint64_t rounds) {
    for (PeerPart& part : known_->parts) {
      const collective::Tree alone = *collective::Tree::of({0});
      part.rounds = {alone.node(0), collective::Reduction::Order::kArrival, 0};
      for (std::uint64_t i = 0; i < rounds; ++i) {
        (void)part.rounds.begin(collective::Given::kSum);
        (void)part.rounds.next();
      }
    }
  }
  Status take(NodeId from, const control::TermPlan& told) {
    return plans_.take(tensor(), *known_, from, told);
  }

  sim::VirtualClock clock_;
  fake::Wire wire_;
  Van van_{fake::scripted_transport(wire_), clock_};
  Tensors tensors_;
  PeerLinks peers_{van_, ""};
  ExchangeProgress progress_;
  OperationEvents outcomes_{.end = [](const OperationPtr&, const Status&) {},
                            .fail_tensor = [](std::uint32_t, const Status&) {},
                            .progress = progress_};
  AllReduceRounds rounds_{van_, peers_, outcomes_};
  StrategySelector plans_{van_, peers_, rounds_};
  std::optional<PeerTensor> known_;
};

constexpr auto kRing = static_cast<std::uint8_t>(Primitive::kRing);

TEST_F(StrategySelectorTest, ThePlanOfTheFirstWorkerHolds) {
  finish(2);
  const Status status = take(10, {.tensor = 1, .round = 4, .primitive = kRing});
  ASSERT_TRUE(status.ok()) << status.text();
  EXPECT_EQ(known_->terms->plan().primitive, Primitive::kRing);
  EXPECT_FALSE(known_->terms->awaited_by(4));
}

TEST_F(StrategySelectorTest, InvalidPlansAreRefused) {
  finish(2);
  const auto why = [this](NodeId from, const control::TermPlan& told) {
    const Status status = take(from, told);
    EXPECT_EQ(status.code(), Code::kMalformed);
    return status.text();
  };
  EXPECT_THAT(why(12, {.round = 4}), HasSubstr("chooses none here"));
  EXPECT_THAT(why(99, {.round = 4}), HasSubstr("chooses none here"));
  EXPECT_THAT(why(10, {.round = 5}), HasSubstr("for round 5 came in round 3"));
  EXPECT_THAT(why(10, {.round = 3, .primitive = 1}), HasSubstr("the next one is for round 4"));
  EXPECT_THAT(why(10, {.round = 4, .primitive = 99}), HasSubstr("no strategy among workers"));
  EXPECT_THAT(why(10, {.round = 4, .primitive = kRing, .weights = {1, 1, 1, 1}}),
              HasSubstr("4 weights, wanted 0"));
  EXPECT_THAT(why(10, {.round = 4, .primitive = 1, .weights = {1, 1}}),
              HasSubstr("2 weights, wanted 4"));
  EXPECT_TRUE(known_->terms->awaited_by(4)) << "nothing of it was taken";
}

TEST_F(StrategySelectorTest, APlanForLaterComesTooEarly) {
  finish(1);
  EXPECT_THAT(take(10, {.round = 4, .primitive = kRing}).text(),
              HasSubstr("a plan for round 4 came in round 2"));
}

class FirstMember : public StrategySelectorTest {
 protected:
  FirstMember() : StrategySelectorTest(0) {}
};

TEST_F(FirstMember, ASlowLinkOwnsNothing) {
  finish(3);
  for (const NodeId node : {10U, 11U, 13U}) plans_.note(node, kRate);
  plans_.note(12, kRate / 4);
  const control::TermPlan told = plans_.choose(tensor(), *known_);
  EXPECT_EQ(told.tensor, 1U);
  EXPECT_EQ(told.round, 4U);
  EXPECT_EQ(static_cast<Primitive>(told.primitive), Primitive::kDirect);
  EXPECT_THAT(told.weights, ElementsAre(64, 64, 0, 64));
  EXPECT_FALSE(known_->terms->awaited_by(4));
}

TEST_F(FirstMember, WithoutWordsOfLinksItStays) {
  finish(3);
  const control::TermPlan told = plans_.choose(tensor(), *known_);
  EXPECT_EQ(static_cast<Primitive>(told.primitive), Primitive::kDirect);
  EXPECT_THAT(told.weights, IsEmpty());
}

TEST_F(FirstMember, FirstMemberTakesNoPlans) {
  finish(3);
  EXPECT_FALSE(take(10, {.round = 4, .primitive = kRing}).ok());
  EXPECT_FALSE(take(11, {.round = 4, .primitive = kRing}).ok());
}

}  // namespace
}  // namespace stretto

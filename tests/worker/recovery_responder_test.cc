// SPDX-License-Identifier: Apache-2.0
// What a worker answers a server that has come in another's place.
#include "worker/server_path/recovery_responder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/van/far_end.h"
#include "tests/van/recorder.h"

namespace stretto {
namespace {

using testing::ElementsAre;

class RecoveryResponderTest : public testing::Test {
 protected:
  static constexpr LinkId kOwner = 1;

  RecoveryResponderTest() {
    recalls_.begin();
    van_.set_node(10);
    EXPECT_TRUE(van_.links().connect("shard0:1", fake::hello(Role::kWorker, 0)).ok());
    owner_.say(fake::welcome(10, 0));
    step();
    van_.links().admit(kOwner, 50);
    owner_.controls();
    tensors_.add(1, spec_, Cut(spec_, 1024), {kOwner});
  }

  void step() {
    fake::Recorder seen;
    van_.step(seen, Duration::zero());
  }
  TensorState& tensor() { return *tensors_.find(1); }
  PartState& part() { return tensor().parts[0]; }
  OperationPtr begin(Operation::Kind kind, bool brings = true) {
    auto operation = std::make_shared<Operation>();
    operation->kind = kind;
    if (brings) operation->source = std::as_bytes(std::span(source_));
    operation->tensor = {.id = 1, .dtype = spec_.dtype, .elements = spec_.elements};
    part().enter(PartState::kShares, operation);
    return operation;
  }
  void finish(std::uint64_t version, const std::vector<float>& value) {
    RecoveryResponder::keep(part(), {.version = version, .contributors = 2}, fake::bytes_of(value));
    part().end(PartState::kShares);
  }
  control::Recall asked() {
    recalls_.answer(kOwner, {.tensor = 1, .part = 0});
    step();
    return std::get<control::Recall>(owner_.control());
  }

  sim::VirtualClock clock_;
  fake::Wire wire_;
  Van van_{fake::scripted_transport(wire_), clock_};
  fake::FarEnd owner_{wire_, kOwner, 50};
  const std::vector<float> source_ = {1, 2};
  const TensorSpec spec_ = fake::spec("w", Dtype::kF32, 2);
  Tensors tensors_;
  RecoveryResponder recalls_{van_, tensors_};
};

TEST_F(RecoveryResponderTest, APartThatNothingWasSentOfHasSeenNoRound) {
  const control::Recall told = asked();
  EXPECT_EQ(told.finished, 0U);
  EXPECT_EQ(told.round, 0U);
  EXPECT_FALSE(told.owed);
}

TEST_F(RecoveryResponderTest, RoundsThatHaveEndedAndTheLastValueAreTold) {
  begin(Operation::Kind::kPushPull);
  EXPECT_EQ(asked().finished, 0U);
  finish(1, {1, 2});
  begin(Operation::Kind::kPushPull);
  finish(2, {3, 4});
  begin(Operation::Kind::kPushPull);  // Open.
  const control::Recall told = asked();
  EXPECT_EQ(told.finished, 2U);
  EXPECT_EQ(told.round, 2U);
  EXPECT_EQ(told.version, 2U);
  EXPECT_FALSE(told.owed) << "it is sent again";
}

TEST_F(RecoveryResponderTest, AnAcknowledgedPushCannotBeSentAgain) {
  begin(Operation::Kind::kPush);
  EXPECT_FALSE(asked().owed);
  part().end(PartState::kShares);
  EXPECT_TRUE(asked().owed);
  part().end_round();
  const control::Recall told = asked();
  EXPECT_FALSE(told.owed);
  EXPECT_EQ(told.finished, 1U);
  EXPECT_EQ(told.round, 0U) << "its value was never asked for";
}

TEST_F(RecoveryResponderTest, EmptyShareCanBeRepeated) {
  begin(Operation::Kind::kPush, false);
  part().end(PartState::kShares);
  EXPECT_FALSE(asked().owed);
  EXPECT_TRUE(part().awaits_empty_share());
  EXPECT_EQ(asked().finished, 0U);
}

TEST_F(RecoveryResponderTest, AValueMayComeBeforeTheWordThatItsRoundIsDone) {
  begin(Operation::Kind::kPush);
  part().end(PartState::kShares);
  begin(Operation::Kind::kPull);
  finish(1, {1, 2});
  const control::Recall told = asked();
  EXPECT_EQ(told.finished, 1U);
  EXPECT_EQ(told.round, 1U);
  EXPECT_FALSE(told.owed);
  EXPECT_TRUE(part().knows_round_ended());
}

TEST_F(RecoveryResponderTest, ReportsLocalTensorFailure) {
  tensor().fail({Code::kNotFinite, "NaN"});
  recalls_.answer(kOwner, {.tensor = 1, .part = 0});
  step();
  EXPECT_EQ(std::get<control::Fault>(owner_.control()).why.code(), Code::kNotFinite);
}

TEST_F(RecoveryResponderTest, ACancelledShareCannotBeSentAgain) {
  begin(Operation::Kind::kPushPull)->cancelled = true;
  EXPECT_TRUE(asked().owed);
}

TEST_F(RecoveryResponderTest, TheValueThatIsAskedForIsSentAndNoOther) {
  begin(Operation::Kind::kPushPull);
  finish(1, {1, 2});
  recalls_.answer(kOwner, {.tensor = 1, .part = 0, .round = 2, .version = 2});
  recalls_.answer(kOwner + 1, {.tensor = 1, .part = 0, .round = 1, .version = 1});
  step();
  EXPECT_TRUE(owner_.data().empty());
  recalls_.answer(kOwner, {.tensor = 1, .part = 0, .round = 1, .version = 1});
  step();
  const fake::Sent sent = owner_.datum();
  EXPECT_EQ(sent.header.kind, wire::Kind::kValue);
  EXPECT_EQ(wire::ValueFacts::of(sent.header).contributors, 2U);
  EXPECT_THAT(fake::floats_of(sent.payload.bytes()), ElementsAre(1, 2));
}

TEST_F(RecoveryResponderTest, ATensorThatIsNotKnownHereHasSeenNoRound) {
  recalls_.answer(kOwner, {.tensor = 9, .part = 3});
  step();
  const auto told = std::get<control::Recall>(owner_.control());
  EXPECT_EQ(told.tensor, 9U);
  EXPECT_EQ(told.part, 3U);
  EXPECT_EQ(told.finished, 0U);
}

TEST_F(RecoveryResponderTest, OnlySumsOfRoundsAreKept) {
  EXPECT_TRUE(recalls_.keeps(tensor()));
  tensor().spec.options.mode = Mode::kAsync;
  EXPECT_FALSE(recalls_.keeps(tensor()));
  RecoveryResponder idle(van_, tensors_);
  tensor().spec.options.mode = Mode::kSync;
  EXPECT_FALSE(idle.keeps(tensor())) << "nobody asked for it";
}

}  // namespace
}  // namespace stretto

// SPDX-License-Identifier: Apache-2.0
// State recovery of a shard that replaces a lost one: its queries, and the state it recovers.
#include "server/recovery/state_recovery.h"

#include "tests/server/shard_fixture.h"

namespace stretto::fake {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class StateRecoveryTest : public ShardTest {
 protected:
  StateRecoveryTest() {
    roster_.epoch = 3;
    roster_.settings.server_restarts = 1;
  }

  void begin_and_open() {
    begin();
    first_.epoch = second_.epoch = 3;
    open();
  }
  void tell(FarEnd& worker, const control::Recall& told) {
    worker.say(told);
    step();
  }
  /// The only query that this worker has received.
  static control::Recall asked(FarEnd& worker) {
    const control::Message message = worker.control();
    EXPECT_TRUE(control::is<control::Recall>(message));
    return std::get<control::Recall>(message);
  }
  void send_value(FarEnd& worker, std::uint64_t version, const std::vector<float>& numbers) {
    const wire::ValueFrame value{
        .key = kKey, .facts = {.version = version, .contributors = 2}, .dtype = Dtype::kF32};
    worker.send(value.header(), bytes_of(numbers));
    step();
  }
  static control::Recall at(std::uint64_t finished) {
    return {.tensor = 1, .round = finished, .version = finished, .finished = finished};
  }
};

TEST_F(StateRecoveryTest, RestartsRoundMissingOnAllWorkers) {
  begin_and_open();
  push(first_, 1, {1, 2});
  EXPECT_EQ(asked(first_).round, 0U);
  EXPECT_EQ(asked(second_).tensor, 1U);
  tell(first_, at(0));
  tell(second_, at(0));
  EXPECT_TRUE(first_.data().empty());
  push(second_, 1, {10, 20});
  EXPECT_THAT(floats_of(first_.datum().payload.bytes()), ElementsAre(11, 22));
  EXPECT_THAT(floats_of(second_.datum().payload.bytes()), ElementsAre(11, 22));
}

TEST_F(StateRecoveryTest, WorkerBehindGetsValueFromWorkerAhead) {
  begin_and_open();
  push(first_, 4, {1, 2});   // first_ has received the value of round 3,
  push(second_, 3, {0, 0});  // for which second_ still waits.
  asked(first_);
  asked(second_);
  tell(first_, at(3));
  tell(second_, {.tensor = 1, .round = 2, .version = 2, .finished = 2});
  EXPECT_EQ(asked(first_).round, 3U);
  EXPECT_TRUE(second_.data().empty());
  send_value(first_, 3, {30, 31});
  const Sent answer = second_.datum();
  EXPECT_THAT(floats_of(answer.payload.bytes()), ElementsAre(30, 31));
  EXPECT_EQ(wire::ValueFacts::of(answer.header).version, 3U);
  EXPECT_EQ(wire::ValueFacts::of(answer.header).own_applied, 3U);
  push(second_, 4, {10, 20});
  EXPECT_THAT(floats_of(first_.datum().payload.bytes()), ElementsAre(11, 22));
  EXPECT_EQ(wire::ValueFacts::of(second_.datum().header).version, 4U);
}

TEST_F(StateRecoveryTest, APullHasTheLastValueToo) {
  begin_and_open();
  pull(second_, 3);
  asked(first_);
  asked(second_);
  tell(first_, at(3));
  tell(second_, {.tensor = 1, .finished = 3});
  asked(first_);
  send_value(first_, 3, {30, 31});
  EXPECT_THAT(floats_of(second_.datum().payload.bytes()), ElementsAre(30, 31));
}

TEST_F(StateRecoveryTest, WorkerOwedDoneGetsDoneWithoutValue) {
  begin_and_open();
  push(first_, 4, {1, 2});
  asked(first_);
  asked(second_);
  tell(first_, at(3));
  tell(second_, {.tensor = 1, .finished = 2, .owed = true});
  asked(first_);
  send_value(first_, 3, {30, 31});
  EXPECT_EQ(second_.datum().header.kind, wire::Kind::kDone);
}

TEST_F(StateRecoveryTest, AWorkerThatComesLaterIsAskedThen) {
  start();
  say_scheduler(roster_);
  join(first_, 0);
  first_.epoch = 3;
  open_at(first_, 1, spec("grads", Dtype::kF32, 2));
  push(first_, 1, {1, 2});
  asked(first_);
  tell(first_, at(0));
  second_.connect();
  second_.say(hello(Role::kWorker, 1, 11));
  step();
  const std::vector<control::Message> said = second_.controls();
  ASSERT_EQ(said.size(), 2U) << "that it is welcome, and the question";
  EXPECT_TRUE(control::is<control::Recall>(said[1]));
}

TEST_F(StateRecoveryTest, FailsWhenNoWorkerHoldsValue) {
  begin_and_open();
  push(first_, 4, {1, 2});
  asked(first_);
  asked(second_);
  tell(first_, {.tensor = 1, .finished = 3});
  tell(second_, {.tensor = 1, .finished = 3});
  for (FarEnd* worker : {&first_, &second_}) {  // Whether the worker waits or not.
    const auto said = worker->controls();
    ASSERT_FALSE(said.empty());
    const Status& why = std::get<control::Fault>(said.front()).why;
    EXPECT_EQ(why.code(), Code::kServerLost);
    EXPECT_THAT(why.cause(), HasSubstr("nobody has asked for the value of round 3"));
  }
  push(second_, 4, {1, 2});
  EXPECT_EQ(fault_at(second_).code(), Code::kServerLost);
}

TEST_F(StateRecoveryTest, AValueThatIsNotWantedChangesNothing) {
  begin_and_open();
  push(first_, 4, {1, 2});
  asked(first_);
  asked(second_);
  send_value(second_, 3, {30, 31});
  EXPECT_FALSE(second_.closed());
  tell(first_, at(3));
  tell(second_, at(3));
  EXPECT_TRUE(first_.data().empty());
}

TEST_F(StateRecoveryTest, RoundsThatMakeNoSenseEndTheirLink) {
  begin_and_open();
  push(first_, 4, {1, 2});
  asked(first_);
  asked(second_);
  tell(second_, {.tensor = 1, .round = 3, .version = 9, .finished = 3});
  EXPECT_THAT(fault_at(second_, 0).cause(), HasSubstr("of a round that has not ended"));
}

TEST_F(StateRecoveryTest, TimeoutNamesUnresponsiveWorker) {
  begin_and_open();
  push(first_, 4, {1, 2});
  asked(first_);
  asked(second_);
  tell(first_, at(3));
  pass(16s);
  const Status why = fault_at(second_);
  EXPECT_EQ(why.code(), Code::kTimeout);
  EXPECT_THAT(why.cause(), HasSubstr("has not heard within 15 s: worker 1"));
}

TEST_F(StateRecoveryTest, FailedTensorOfWorkerFailsAllWorkers) {
  begin_and_open();
  push(first_, 4, {1, 2});
  asked(first_);
  asked(second_);
  second_.say(control::Fault{.why = {Code::kNotFinite, "NaN"}, .tensor = 1});
  step();
  for (const control::Message& message : first_.controls()) {
    EXPECT_EQ(std::get<control::Fault>(message).why.code(), Code::kNotFinite);
  }
  push(second_, 4, {1, 2});
  EXPECT_TRUE(second_.data().empty());
}

TEST_F(StateRecoveryTest, NoFrameOfAWorkerPassesOneThatWaits) {
  begin_and_open();
  const TensorSpec other = spec("other", Dtype::kF32, 2);
  for (FarEnd* worker : {&first_, &second_}) open_at(*worker, 2, other);
  auto later = wire::PushFrame::of(push_header({2, 0}, 1, wire::kWantsValue));
  second_.send(later.header(), bytes_of({5, 6}));
  step();
  for (FarEnd* worker : {&first_, &second_}) {
    worker->controls();
    tell(*worker, {.tensor = 2});
  }
  push(first_, 1, {1, 2});  // Tensor 1 is not recovered yet,
  first_.send(later.header(), bytes_of({5, 6}));
  step();
  EXPECT_TRUE(second_.data().empty()) << "and what follows waits behind";
  for (FarEnd* worker : {&first_, &second_}) {
    worker->controls();
    tell(*worker, {.tensor = 1});
  }
  EXPECT_THAT(floats_of(second_.datum().payload.bytes()), ElementsAre(10, 12));
}

TEST_F(StateRecoveryTest, AValueOfAnotherSizeIsRefused) {
  begin_and_open();
  push(first_, 4, {1, 2});
  asked(first_);
  asked(second_);
  tell(second_, at(3));
  tell(first_, {.tensor = 1, .finished = 3});
  asked(second_);
  send_value(second_, 3, {30, 31, 32});
  EXPECT_THAT(fault_at(second_, 0).cause(), HasSubstr("a value of 12 bytes of f32 came"));
}

TEST_F(StateRecoveryTest, TooManyFramesForOnePartEndTheirLink) {
  begin_and_open();
  pull(first_, 3);
  asked(first_);
  for (int i = 0; i < 4; ++i) pull(first_, 3);
  EXPECT_THAT(fault_at(first_, 0).cause(), HasSubstr("too many frames wait"));
}

TEST_F(StateRecoveryTest, FirstServersDoNotQueryWorkers) {
  roster_.epoch = 1;
  begin();
  open();
  push(first_, 1, {1, 2});
  EXPECT_TRUE(first_.controls().empty());
}

}  // namespace
}  // namespace stretto::fake

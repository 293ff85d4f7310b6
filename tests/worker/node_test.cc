// SPDX-License-Identifier: Apache-2.0
// A worker's node on its loop, with a scripted scheduler and two scripted shards: joining, names,
// barriers, leaving and failing. Every callback is called exactly once.
#include "worker/node.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/worker/played_node.h"

namespace stretto {
namespace {

using fake::FarEnd;
using testing::HasSubstr;

/// The result of a callback; checks that it is called once.
template <typename T>
class Answer {
 public:
  auto callback() {
    return [heard = heard_](const T& value) {
      EXPECT_FALSE(heard->has_value()) << "called twice";
      *heard = value;
    };
  }
  bool came() const { return heard_->has_value(); }
  const T& operator*() const { return **heard_; }
  const T* operator->() const { return &**heard_; }

 private:
  std::shared_ptr<std::optional<T>> heard_ = std::make_shared<std::optional<T>>();
};

class NodeTest : public fake::PlayedNode {
 protected:
  /// Time passes while the scheduler shows signs of life.
  void pass(Duration time) {
    for (const Time end = clock_.now() + time; clock_.now() < end;) {
      clock_.advance_to(std::min(end, clock_.now() + 500ms));
      say(scheduler_, fake::heartbeat());
    }
  }
  void meet_scheduler() {
    node_.join(joined_.callback());
    say(scheduler_, fake::welcome(10, 0));
    say(scheduler_, roster_);
  }
  void join() {
    meet_scheduler();
    say(first_, fake::welcome(10, 0));
    say(second_, fake::welcome(10, 0));
    ASSERT_TRUE(joined_.came());
    ASSERT_TRUE(joined_->ok()) << joined_->text();
    for (FarEnd* far : {&scheduler_, &first_, &second_}) {
      far->controls();
      far->epoch = roster_.epoch;
    }
  }
  /// Slots from `first` on, owned by these nodes in turn.
  static control::Declared declared(const std::string& name, std::uint32_t id,
                                    const std::vector<NodeId>& owners, std::uint32_t first = 7) {
    control::Declared message{.tensor = id, .first_slot = first, .name = name};
    for (NodeId owner : owners) {
      message.owners.push_back({.first = first++ % kSlots, .count = 1, .owner = owner});
    }
    return message;
  }
  Result<Tensor> declare(const TensorSpec& spec, const control::Message& answer) {
    Answer<Result<Tensor>> told;
    node_.work().declare(spec, told.callback());
    say(scheduler_, answer);
    return told.came() ? *told : Result<Tensor>(Status(Code::kTimeout, "no answer"));
  }
  static control::Fault barrier_fault() {
    return {.why = {Code::kPeerLost, "worker 1 has left the job"}, .name = "barrier"};
  }
  std::shared_ptr<Operation> pull(const Tensor& tensor) {
    auto operation = std::make_shared<Operation>();
    operation->kind = Operation::Kind::kPull;
    operation->tensor = tensor;
    operation->target = std::as_writable_bytes(std::span(memory_)).first(tensor.bytes());
    operation->ticket = std::make_shared<detail::TicketState>(1);
    node_.work().start(operation);
    step();
    return operation;
  }

  Roster roster_ = fake::roster(2, 2);
  FarEnd first_{wire_, 2, 50};
  FarEnd second_{wire_, 3, 51};
  Answer<Status> joined_;
  std::vector<float> memory_ = std::vector<float>(1 << 17);
  const TensorSpec spec_ = fake::spec("grads", Dtype::kF32, 2);
};

// ---- joining

TEST_F(NodeTest, JoiningEndsWhenEveryShardHasAnswered) {
  meet_scheduler();
  EXPECT_EQ(wire_.connected.back(), "shard1:1");
  const control::Hello hello = std::get<control::Hello>(first_.control());
  EXPECT_EQ(hello.node, 10U);
  EXPECT_EQ(hello.token, "secret");
  say(first_, fake::welcome(10, 0));
  EXPECT_FALSE(joined_.came());
  say(second_, fake::welcome(10, 0));
  ASSERT_TRUE(joined_.came());
  EXPECT_TRUE(joined_->ok());
  EXPECT_TRUE(node_.joined());
}

TEST_F(NodeTest, ANewcomersJoinEndsWhenItsRankIsKnown) {
  roster_.settings.min_workers = 1;
  roster_.members[0].joining = true;
  meet_scheduler();
  for (FarEnd* far : {&first_, &second_}) {
    far->epoch = roster_.epoch;
    say(*far, fake::welcome(10, 0));
  }
  for (FarEnd* far : {&first_, &second_}) say(*far, control::TakeIn{.step = 3, .nodes = {10}});
  EXPECT_FALSE(joined_.came()) << "the roster that decided it is on its way";
  scheduler_.epoch = roster_.epoch++;
  roster_.members[0].joining = false;
  roster_.members[0].from_step = 3;
  say(scheduler_, roster_);
  ASSERT_TRUE(joined_.came());
  EXPECT_TRUE(joined_->ok()) << joined_->text();
}

TEST_F(NodeTest, AShardThatDoesNotAnswerIsNamed) {
  meet_scheduler();
  say(first_, fake::welcome(10, 0));
  pass(9s);
  EXPECT_FALSE(joined_.came());
  pass(2s);
  ASSERT_TRUE(joined_.came());
  EXPECT_EQ(joined_->code(), Code::kServerLost);
  EXPECT_THAT(joined_->cause(), HasSubstr("server 0 shard 1 at shard1:1 did not answer"));
  EXPECT_EQ(joined_->operation(), "join");
  EXPECT_TRUE(node_.over());
}

TEST_F(NodeTest, ARefusalAtAShardIsTheJoinsError) {
  meet_scheduler();
  say(second_, control::Fault{.why = {Code::kRefused, "says it is node 10, which is no worker"}});
  ASSERT_TRUE(joined_.came());
  EXPECT_EQ(joined_->code(), Code::kRefused);
  EXPECT_EQ(joined_->peer(), "server 0 shard 1");
}

TEST_F(NodeTest, ARefusalAtTheSchedulerIsTheJoinsError) {
  node_.join(joined_.callback());
  step();
  say(scheduler_, control::Fault{.why = {Code::kRefused, "two processes have the same rank"}});
  ASSERT_TRUE(joined_.came());
  EXPECT_EQ(joined_->cause(), "two processes have the same rank");
  EXPECT_TRUE(node_.over());
}

TEST_F(NodeTest, AnAddressThatCannotBeUsedEndsTheJoin) {
  wire_.refusal = {Code::kNetwork, "host 'x' cannot be resolved"};
  node_.join(joined_.callback());
  step();
  ASSERT_TRUE(joined_.came());
  EXPECT_EQ(joined_->cause(), "host 'x' cannot be resolved");
}

// ---- names

TEST_F(NodeTest, DeclareUsesSchedulersIdAndOpensAtOwner) {
  join();
  const Result<Tensor> tensor = declare(spec_, declared("grads", 4, {51}));
  ASSERT_TRUE(tensor.ok()) << tensor.status().text();
  EXPECT_EQ(tensor->id, 4U);
  EXPECT_EQ(tensor->bytes(), 8U);
  EXPECT_EQ(std::get<control::Declare>(scheduler_.control()).spec.name, "grads");
  EXPECT_EQ(std::get<control::Open>(second_.control()).tensor, 4U);
  EXPECT_TRUE(first_.controls().empty()) << "no part of it lives there";
}

TEST_F(NodeTest, PartsGoToTheOwnersOfTheirSlots) {
  join();
  const TensorSpec large = fake::spec("large", Dtype::kF32, 3 << 15);
  memory_.resize(large.elements);
  const Result<Tensor> tensor = declare(large, declared("large", 4, {51, 50}, kSlots - 1));
  ASSERT_TRUE(tensor.ok()) << tensor.status().text();
  pull(*tensor);
  EXPECT_EQ(second_.datum().header.key, (wire::Key{4, 0})) << "the last slot";
  EXPECT_EQ(first_.datum().header.key, (wire::Key{4, 1})) << "and around to the first";
}

TEST_F(NodeTest, RepeatedDeclareSendsNothing) {
  join();
  ASSERT_TRUE(declare(spec_, declared("grads", 4, {50})).ok());
  scheduler_.controls();
  Answer<Result<Tensor>> again;
  node_.work().declare(spec_, again.callback());
  ASSERT_TRUE(again.came());
  EXPECT_EQ((*again)->id, 4U);
  step();
  EXPECT_TRUE(scheduler_.controls().empty());
}

TEST_F(NodeTest, TwoCallersOfOneNameShareTheAnswer) {
  join();
  Answer<Result<Tensor>> first, second, other;
  node_.work().declare(spec_, first.callback());
  node_.work().declare(spec_, second.callback());
  node_.work().declare(fake::spec("grads", Dtype::kF64, 2), other.callback());
  ASSERT_TRUE(other.came());
  EXPECT_THAT(other->status().cause(), HasSubstr("as f32[2] sync sum and as f64[2] sync sum"));
  step();
  EXPECT_TRUE(control::is<control::Declare>(scheduler_.control()));
  say(scheduler_, declared("grads", 4, {50}));
  EXPECT_TRUE(first.came() && first->ok());
  EXPECT_TRUE(second.came() && second->ok());
}

TEST_F(NodeTest, InvalidDeclareIsRefusedLocally) {
  join();
  Answer<Result<Tensor>> told;
  node_.work().declare(fake::spec("", Dtype::kF32, 2), told.callback());
  ASSERT_TRUE(told.came());
  EXPECT_EQ(told->status().code(), Code::kInvalidArgument);
  TensorSpec wrong = fake::spec("grads", Dtype::kF32, 2);
  wrong.options.update = {.rule = Rule::kSgd, .rate = -1};
  Answer<Result<Tensor>> refused;
  node_.work().declare(wrong, refused.callback());
  ASSERT_TRUE(refused.came());
  EXPECT_EQ(refused->status().code(), Code::kInvalidArgument);
  EXPECT_EQ(refused->status().cause().find("tensor 'grads': rule 'sgd' wants rate"), 0U)
      << refused->status().text();
  step();
  EXPECT_TRUE(scheduler_.controls().empty());
}

TEST_F(NodeTest, AnAnswerWithoutUsableOwnersIsMalformed) {
  join();
  const control::Declared nobody = declared("grads", 4, {99});
  EXPECT_EQ(declare(spec_, nobody).status().code(), Code::kMalformed);
  EXPECT_EQ(declare(spec_, declared("grads", 4, {})).status().code(), Code::kMalformed);
  control::Declared beyond = declared("grads", 4, {50});
  beyond.owners[0].count = ~0U;
  EXPECT_EQ(declare(spec_, beyond).status().code(), Code::kMalformed);
  EXPECT_TRUE(declare(spec_, declared("grads", 4, {50})).ok());
}

TEST_F(NodeTest, AFaultByNameEndsTheDeclareAndByIdTheTensor) {
  join();
  const Result<Tensor> tensor = declare(spec_, declared("grads", 4, {50}));
  ASSERT_TRUE(tensor.ok());
  const auto operation = pull(*tensor);
  control::Fault fault = {.why = {Code::kMismatch, "worker 1 declared f64[2]"}};
  fault.name = "grads";
  fault.tensor = 4;
  say(scheduler_, fault);
  EXPECT_EQ(operation->ticket->wait_for(0s).code(), Code::kMismatch);
  EXPECT_EQ(pull(*tensor)->ticket->wait_for(0s).code(), Code::kMismatch);
  fault.name = "other";
  fault.tensor = 5;
  const Status refused = declare(fake::spec("other", Dtype::kF32, 1), fault).status();
  EXPECT_EQ(refused.code(), Code::kMismatch);
  EXPECT_EQ(refused.operation(), "declare");
  EXPECT_EQ(refused.peer(), "scheduler");
}

TEST_F(NodeTest, AFaultOfAShardEndsItsTensorOnly) {
  join();
  const Result<Tensor> one = declare(spec_, declared("grads", 4, {50}));
  const Result<Tensor> two = declare(fake::spec("x", Dtype::kF32, 2), declared("x", 5, {50}));
  ASSERT_TRUE(one.ok() && two.ok());
  const auto failing = pull(*one);
  const auto living = pull(*two);
  control::Fault fault = {.why = {Code::kResource, "needs 8 more bytes"}};
  fault.tensor = 4;
  say(first_, fault);
  ASSERT_TRUE(failing->ticket->done());
  EXPECT_EQ(failing->ticket->wait_for(0s).peer(), "server 0");
  EXPECT_FALSE(living->ticket->done());
  EXPECT_FALSE(node_.over());
}

TEST_F(NodeTest, ADeclareWithoutAnswerEndsAtItsDeadline) {
  join();
  Answer<Result<Tensor>> told;
  node_.work().declare(spec_, told.callback());
  pass(19s);
  EXPECT_FALSE(told.came());
  pass(2s);
  ASSERT_TRUE(told.came());
  EXPECT_EQ(told->status().code(), Code::kTimeout);
  EXPECT_THAT(told->status().cause(), HasSubstr("'grads'"));
}

// ---- barriers

TEST_F(NodeTest, BarriersGoOneByOne) {
  join();
  Answer<Status> first, second;
  node_.work().barrier(first.callback());
  node_.work().barrier(second.callback());
  step();
  EXPECT_EQ(std::get<control::Barrier>(scheduler_.control()).number, 1U);
  say(scheduler_, fake::barrier(7));
  EXPECT_FALSE(first.came()) << "that is somebody else's";
  say(scheduler_, fake::barrier(1));
  EXPECT_TRUE(first.came());
  EXPECT_FALSE(second.came());
  EXPECT_EQ(std::get<control::Barrier>(scheduler_.control()).number, 2U);
  say(scheduler_, fake::barrier(2));
  EXPECT_TRUE(second.came() && second->ok());
}

TEST_F(NodeTest, AFaultEndsAllBarriersThatWait) {
  join();
  Answer<Status> first, second;
  node_.work().barrier(first.callback());
  node_.work().barrier(second.callback());
  say(scheduler_, barrier_fault());
  ASSERT_TRUE(first.came() && second.came());
  EXPECT_EQ(first->code(), Code::kPeerLost);
  EXPECT_EQ(first->operation(), "barrier");
}

TEST_F(NodeTest, ABarrierThatFailedIsTriedAgainUnderItsNumber) {
  join();
  Answer<Status> failed, waiting, again;
  node_.work().barrier(failed.callback());
  node_.work().barrier(waiting.callback());
  say(scheduler_, barrier_fault());
  ASSERT_TRUE(failed.came());
  scheduler_.controls();
  say(scheduler_, barrier_fault());  // Repeated, as for all workers; no barrier is pending.
  node_.work().barrier(again.callback());
  step();
  EXPECT_EQ(std::get<control::Barrier>(scheduler_.control()).number, 1U)
      << "the scheduler has not seen barrier 1 complete, and refuses a second one";
  say(scheduler_, fake::barrier(1));
  EXPECT_TRUE(again.came() && again->ok());
}

TEST_F(NodeTest, ABarrierEndsAtItsDeadline) {
  join();
  Answer<Status> told;
  node_.work().barrier(told.callback());
  pass(21s);
  ASSERT_TRUE(told.came());
  EXPECT_EQ(told->code(), Code::kTimeout);
  EXPECT_FALSE(node_.over());
}

// ---- leaving

TEST_F(NodeTest, LeavesWhenNothingIsInFlightAnyMore) {
  join();
  const Result<Tensor> tensor = declare(spec_, declared("grads", 4, {50}));
  ASSERT_TRUE(tensor.ok());
  const auto operation = pull(*tensor);
  for (FarEnd* far : {&scheduler_, &first_, &second_}) far->controls();
  Answer<Status> left;
  node_.leave(left.callback());
  step();
  EXPECT_TRUE(scheduler_.controls().empty());
  wire::Header value;
  value.kind = wire::Kind::kValue;
  value.dtype = static_cast<std::uint8_t>(Dtype::kF32);
  value.key = {4, 0};
  value.version = 1;
  wire::Header call;  // Of a kind that no worker waits for: ignored.
  call.kind = wire::Kind::kCall;
  call.key = {4, 0};
  first_.send(call, fake::bytes_of({1, 2}));
  step();
  EXPECT_FALSE(operation->ticket->done());
  first_.send(value, fake::bytes_of({1, 2}));
  step();
  EXPECT_TRUE(operation->ticket->done());
  for (FarEnd* far : {&scheduler_, &first_, &second_})
    EXPECT_TRUE(control::is<control::Leave>(far->control()));
  EXPECT_FALSE(left.came());
  say(scheduler_, fake::leave());
  ASSERT_TRUE(left.came());
  EXPECT_TRUE(left->ok());
  EXPECT_TRUE(node_.over());
  EXPECT_TRUE(node_.membership().status().ok());
  EXPECT_TRUE(first_.closed() && second_.closed() && scheduler_.closed());
}

TEST_F(NodeTest, AfterLeavingEverythingIsCancelled) {
  join();
  Answer<Status> left, again, barrier;
  Answer<Result<Tensor>> tensor;
  node_.leave(left.callback());
  node_.leave(again.callback());
  node_.work().barrier(barrier.callback());
  node_.work().declare(spec_, tensor.callback());
  ASSERT_TRUE(barrier.came() && tensor.came());
  EXPECT_FALSE(again.came()) << "it has not left yet";
  EXPECT_THAT(barrier->cause(), HasSubstr("is leaving"));
  EXPECT_EQ(barrier->code(), Code::kCancelled);
  EXPECT_EQ(barrier->operation(), "barrier");
  EXPECT_EQ(tensor->status().code(), Code::kCancelled);
  const Status started = pull({4, Dtype::kF32, 2})->ticket->wait_for(0s);
  EXPECT_EQ(started.code(), Code::kCancelled);
  EXPECT_EQ(started.operation(), "pull");
  say(scheduler_, fake::leave());
  EXPECT_TRUE(left.came() && left->ok());
  EXPECT_TRUE(again.came() && again->ok());
}

// ---- failing

TEST_F(NodeTest, AFailureEndsEverythingWithItsCause) {
  join();
  const Result<Tensor> tensor = declare(spec_, declared("grads", 4, {50}));
  ASSERT_TRUE(tensor.ok());
  Answer<Status> barrier, left;
  Answer<Result<Tensor>> declaring;
  const auto operation = pull(*tensor);
  node_.work().barrier(barrier.callback());
  node_.work().declare(fake::spec("other", Dtype::kF32, 1), declaring.callback());
  node_.leave(left.callback());
  (void)first_.data();
  control::Failure failure{.why =
                               Status(Code::kPeerLost, "worker 1 is lost").with_peer("worker 1")};
  say(scheduler_, failure);
  ASSERT_TRUE(barrier.came() && declaring.came() && left.came());
  for (const Status& status : {*barrier, declaring->status(), *left,
                               operation->ticket->wait_for(0s), node_.membership().status()}) {
    EXPECT_EQ(status.code(), Code::kPeerLost);
    EXPECT_EQ(status.peer(), "worker 1");
  }
  EXPECT_EQ(operation->ticket->wait_for(0s).operation(), "pull 'grads'");
  EXPECT_TRUE(node_.over());
}

TEST_F(NodeTest, ABrokenShardIsReportedAndThenLost) {
  join();
  second_.break_link();
  step();
  EXPECT_EQ(std::get<control::LinkReport>(scheduler_.control()).node, 51U);
  EXPECT_FALSE(node_.over());
  pass(4s);
  ASSERT_TRUE(node_.over());
  EXPECT_EQ(node_.membership().status().code(), Code::kServerLost);
  EXPECT_THAT(node_.membership().status().cause(), HasSubstr("server 0 shard 1 at shard1:1 broke"));
}

TEST_F(NodeTest, AShardThatGoesWhileWeLeaveIsNoFailure) {
  join();
  Answer<Status> left;
  node_.leave(left.callback());
  step();
  scheduler_.controls();
  first_.break_link();
  step();
  EXPECT_TRUE(scheduler_.controls().empty());
  say(scheduler_, fake::leave());
  EXPECT_TRUE(left.came() && left->ok());
}

TEST_F(NodeTest, AbandoningEndsEverythingAtOnce) {
  join();
  Answer<Status> barrier;
  node_.work().barrier(barrier.callback());
  node_.abandon();
  ASSERT_TRUE(barrier.came());
  EXPECT_EQ(barrier->code(), Code::kCancelled);
  EXPECT_TRUE(node_.over());
}

// Memory that the transport still holds is released with the membership, before the ticket ends.
TEST_F(NodeTest, AbandonEndsTicketsDespiteLentMemory) {
  wire_.lend = true;
  join();
  const Result<Tensor> tensor = declare(spec_, declared("grads", 4, {50}));
  ASSERT_TRUE(tensor.ok());
  auto operation = std::make_shared<Operation>();
  operation->tensor = *tensor;
  operation->source = std::as_bytes(std::span(memory_)).first(8);
  operation->ticket = std::make_shared<detail::TicketState>(1);
  node_.work().start(operation);
  step();
  EXPECT_EQ(operation->leases.load(), 1U) << "the transport's";
  node_.abandon();
  EXPECT_TRUE(operation->ticket->done());
  EXPECT_EQ(operation->leases.load(), 0U);
  EXPECT_TRUE(node_.over());
  node_.van().waker()->wake();  // Handles may outlive the node; no thread sleeps there.
}

}  // namespace
}  // namespace stretto

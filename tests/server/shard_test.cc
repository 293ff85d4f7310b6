// SPDX-License-Identifier: Apache-2.0
// A shard's replies to workers: to hellos, contributions and pulls, and to rejected messages.
#include "server/shard.h"

#include "tests/server/shard_fixture.h"

namespace stretto::fake {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// ---- the door

TEST_F(ShardTest, TellsTheSchedulerWhereItListens) {
  start();
  const control::Hello hello = std::get<control::Hello>(scheduler_.controls().front());
  EXPECT_EQ(hello.address, "127.0.0.1:7000");
  EXPECT_EQ(hello.role, Role::kServer);
}

TEST_F(ShardTest, TellsOthersTheAdvertisedHost) {
  Shard shard(config_, 0, scripted_transport(wire_), clock_);
  ASSERT_TRUE(shard.start("0.0.0.0:7000", "10.0.0.5").ok());
  shard.step(Duration::zero());
  EXPECT_EQ(std::get<control::Hello>(scheduler_.control()).address, "10.0.0.5:7000");
}

TEST_F(ShardTest, CannotStartWhereItCannotListen) {
  wire_.refusal = {Code::kNetwork, "address in use"};
  Shard shard(config_, 0, scripted_transport(wire_), clock_);
  EXPECT_EQ(shard.start("127.0.0.1:7000", "").cause(), "address in use");
}

TEST_F(ShardTest, CallersWaitForTheRoster) {
  start();
  first_.connect();
  first_.say(hello(Role::kWorker, 0, 10));
  step();
  EXPECT_TRUE(first_.controls().empty());
  say_scheduler(roster_);
  const control::Message answer = first_.control();
  EXPECT_EQ(std::get<control::Welcome>(answer).node, 10U);
  EXPECT_EQ(std::get<control::Welcome>(answer).rank, 0);
}

TEST_F(ShardTest, ACallerThatGoesWhileItWaitsIsForgotten) {
  start();
  first_.connect();
  first_.say(hello(Role::kWorker, 0, 10));
  first_.break_link();
  step();
  say_scheduler(roster_);
  FarEnd again(wire_, 103, 10);
  join(again, 0);
}

TEST_F(ShardTest, AWrongTokenIsRefused) {
  begin();
  FarEnd stranger(wire_, 103, 0);
  stranger.connect();
  control::Hello message = hello(Role::kWorker, 0, 10);
  message.token = "wrong";
  stranger.say(message);
  step();
  EXPECT_THAT(fault_at(stranger, 0).cause(), HasSubstr("another job token"));
}

TEST_F(ShardTest, OnlyWorkersOfTheRosterComeInAndEachOnce) {
  roster_.members[1].left = true;
  start();
  say_scheduler(roster_);
  join(first_, 0);
  const struct {
    NodeId node;
    const char* says;
  } callers[] = {{99, "no worker of this job"},
                 {50, "no worker of this job"},
                 {11, "no worker of this job"},
                 {10, "says it is worker 0, which is connected already"}};
  LinkId link = 200;
  for (const auto& caller : callers) {
    FarEnd stranger(wire_, link++, caller.node);
    stranger.connect();
    stranger.say(hello(Role::kWorker, 0, caller.node));
    step();
    EXPECT_THAT(fault_at(stranger, 0).cause(), HasSubstr(caller.says));
  }
}

TEST_F(ShardTest, APushBeforeHelloClosesTheLink) {
  start();
  say_scheduler(roster_);
  first_.connect();
  push(first_, 1, {1, 2});
  EXPECT_TRUE(first_.closed());
}

// ---- rounds

TEST_F(ShardTest, RoundValueIsSentToAllFromOneBuffer) {
  wire_.lend = true;
  begin();
  open();
  first_.send(
      [] {
        wire::Header header = push_header(kKey, 1);
        header.priority = 7;
        return header;
      }(),
      bytes_of({1, 2}));
  step();
  EXPECT_TRUE(first_.data().empty());
  push(second_, 1, {10, 20});
  const Sent at_first = first_.datum();
  const Sent at_second = second_.datum();
  EXPECT_THAT(floats_of(at_first.payload.bytes()), ElementsAre(11, 22));
  EXPECT_EQ(at_first.payload.data(), at_second.payload.data()) << "one lease, two sends";
  EXPECT_EQ(at_first.header.kind, wire::Kind::kValue);
  EXPECT_EQ(at_first.header.dtype, static_cast<std::uint8_t>(Dtype::kF32));
  EXPECT_EQ(at_first.header.key, kKey);
  EXPECT_EQ(wire::ValueFacts::of(at_first.header).version, 1U);
  EXPECT_EQ(wire::ValueFacts::of(at_first.header).slowest, 1U);
  EXPECT_EQ(at_first.header.own_applied, 1U);
  EXPECT_EQ(at_first.header.spread, 0U);
  EXPECT_EQ(at_first.header.contributors, 2U);
  EXPECT_EQ(at_first.header.priority, 7) << "the way back is as urgent as the way there";
  EXPECT_EQ(at_second.header.priority, 0);
}

TEST_F(ShardTest, AValueOnItsWayIsNotTouchedByTheNextRound) {
  wire_.lend = true;
  begin();
  open();
  push(first_, 1, {1, 1});
  push(second_, 1, {1, 1});
  const Sent slow = second_.datum();
  for (std::uint64_t round = 2; round < 5; ++round) {
    push(first_, round, {9, 9});
    push(second_, round, {9, 9});
  }
  EXPECT_THAT(floats_of(slow.payload.bytes()), ElementsAre(2, 2));
}

TEST_F(ShardTest, PushOnlyGetsAckThenRoundCompletion) {
  begin();
  open();
  push(first_, 1, {1, 2}, 0);
  EXPECT_TRUE(first_.data().empty());
  EXPECT_EQ(first_.heard_acked, 1U);
  push(second_, 1, {1, 2});
  const Sent done = first_.datum();
  EXPECT_EQ(done.header.kind, wire::Kind::kDone);
  EXPECT_EQ(wire::ValueFacts::of(done.header).version, 1U);
  EXPECT_TRUE(done.payload.empty());
}

TEST_F(ShardTest, APullIsAnsweredAtOnceOrWhenItsVersionIsThere) {
  begin();
  open();
  pull(first_, 0);
  EXPECT_TRUE(first_.data().empty()) << "there is no value yet";
  push(first_, 1, {1, 2}, 0);
  push(second_, 1, {1, 2}, 0);
  const auto at_first = first_.data();
  ASSERT_EQ(at_first.size(), 2U);
  EXPECT_EQ(at_first[0].header.kind, wire::Kind::kValue) << "it asked first";
  EXPECT_EQ(at_first[1].header.kind, wire::Kind::kDone);
  (void)second_.data();
  pull(second_, 1);
  EXPECT_THAT(floats_of(second_.datum().payload.bytes()), ElementsAre(2, 4));
  pull(second_, 2);
  EXPECT_TRUE(second_.data().empty());
}

TEST_F(ShardTest, AShareThatComesTwiceCountsOnce) {
  begin();
  open();
  push(first_, 1, {1, 2});
  push(first_, 1, {100, 200});
  EXPECT_EQ(first_.controls().size(), 0U) << "no error: it was counted";
  EXPECT_EQ(first_.heard_acked, 2U);
  push(second_, 1, {10, 20});
  EXPECT_THAT(floats_of(first_.datum().payload.bytes()), ElementsAre(11, 22));
}

TEST_F(ShardTest, ABroadcastGivesAllTheRootsBytes) {
  begin();
  open();
  second_.send(push_header(kKey, 1, wire::kWantsValue | wire::kAssign | wire::kAbsent));
  step();
  push(first_, 1, {4, 5}, wire::kWantsValue | wire::kAssign);
  EXPECT_THAT(floats_of(first_.datum().payload.bytes()), ElementsAre(4, 5));
  EXPECT_THAT(floats_of(second_.datum().payload.bytes()), ElementsAre(4, 5));
}

TEST_F(ShardTest, LostRootBroadcastCompletesWithoutValue) {
  roster_.settings.min_workers = 1;
  begin();
  open();
  second_.send(push_header(kKey, 1, wire::kWantsValue | wire::kAssign | wire::kAbsent));
  step();
  roster_.members[0].left = roster_.members[0].lost = true;
  roster_.members[1].rank = 0;
  roster_.members[1].moved_up = 1;
  roster_.workers = 1;
  ++roster_.epoch;
  say_scheduler(roster_);
  const Sent done = second_.datum();
  EXPECT_EQ(done.header.kind, wire::Kind::kDone);
  EXPECT_TRUE(done.payload.empty());
  push(second_, 2, {4, 5}, wire::kWantsValue | wire::kAssign, 1);
  EXPECT_THAT(floats_of(second_.datum().payload.bytes()), ElementsAre(4, 5));
}

TEST_F(ShardTest, RootMismatchReachesAllWaiters) {
  begin();
  open();
  push(first_, 1, {4, 5}, wire::kWantsValue | wire::kAssign);
  const wire::PushFrame push_of_none{.key = kKey,
                                     .round = 1,
                                     .root = 7,  // Not a rank of this job.
                                     .wants_value = true,
                                     .assigns = true,
                                     .absent = true,
                                     .dtype = Dtype::kF32};
  second_.send(push_of_none.header());
  step();
  EXPECT_EQ(fault_at(second_).code(), Code::kMalformed);
  push(second_, 1, {6, 7}, wire::kWantsValue | wire::kAssign, 1);
  for (FarEnd* worker : {&first_, &second_}) {
    const Status status = fault_at(*worker);
    EXPECT_EQ(status.code(), Code::kMismatch);
    EXPECT_THAT(status.cause(), HasSubstr("worker 0 broadcasts from root 0, worker 1 from root 1"));
  }
}

TEST_F(ShardTest, LateContributorHearsOfMismatch) {
  begin();
  open();
  push(first_, 1, {4, 5});
  push(second_, 1, {6, 7, 8});
  for (int time = 0; time < 2; ++time) {
    for (FarEnd* worker : {&first_, &second_}) {
      const Status status = fault_at(*worker);
      EXPECT_EQ(status.code(), Code::kMismatch);
      EXPECT_THAT(status.cause(), HasSubstr("worker 1 sent 12 bytes for a part of 8"));
    }
    if (time == 0) push(first_, 2, {1, 1});
    if (time == 0) push(second_, 1, {1, 1});
  }
}

TEST_F(ShardTest, AsyncContributionGetsCurrentValue) {
  begin();
  open({.mode = Mode::kAsync});
  push(first_, 1, {1, 1});
  push(first_, 2, {1, 1});
  const auto values = first_.data();
  ASSERT_EQ(values.size(), 2U);
  EXPECT_THAT(floats_of(values[0].payload.bytes()), ElementsAre(1, 1)) << "as it was then";
  EXPECT_THAT(floats_of(values[1].payload.bytes()), ElementsAre(2, 2));
  EXPECT_EQ(wire::ValueFacts::of(values[1].header).slowest, 0U) << "the slowest has done nothing";
  EXPECT_EQ(values[1].header.spread, 2U);
}

TEST_F(ShardTest, AValueTellsWhetherItAnswersAPushOrAPull) {
  begin();
  open({.mode = Mode::kEagerAsync});
  push(first_, 1, {1, 1});
  EXPECT_EQ(first_.datum().header.flags, wire::kWantsValue);
  pull(first_, 0);
  EXPECT_EQ(first_.datum().header.flags, 0U);
}

TEST_F(ShardTest, AProbeIsAnsweredAtOnceWithoutBytes) {
  begin();
  open();
  push(first_, 1, {1, 1});
  EXPECT_TRUE(first_.data().empty()) << "the round lacks the second";
  probe(first_);
  const Sent before = first_.datum();
  EXPECT_EQ(before.header.kind, wire::Kind::kDone);
  EXPECT_EQ(before.header.flags, wire::kProbe);
  EXPECT_EQ(wire::ValueFacts::of(before.header).version, 0U);
  EXPECT_EQ(before.header.own_applied, 0U) << "its share is not in a value yet";
  EXPECT_EQ(before.header.spread, 1U);
  EXPECT_TRUE(before.payload.empty());
  push(second_, 1, {1, 1});
  (void)first_.data();
  probe(first_);
  const Sent after = first_.datum();
  EXPECT_EQ(wire::ValueFacts::of(after.header).version, 1U);
  EXPECT_EQ(after.header.own_applied, 1U);
  EXPECT_EQ(wire::ValueFacts::of(after.header).slowest, 1U);
}

// ---- rejected messages

TEST_F(ShardTest, RefusesContributionOfPastEpoch) {
  begin();
  open();
  push(first_, 1, {1, 2});
  roster_.epoch = 2;
  roster_.fence = 2;
  say_scheduler(roster_);
  push(second_, 1, {1, 2});
  const Status status = fault_at(second_, 0);
  EXPECT_EQ(status.code(), Code::kRefused);
  EXPECT_THAT(status.cause(), HasSubstr("a frame of epoch 1 came, epochs before 2 are over"));
  EXPECT_EQ(shard_->slots().shares(), 1U);
  first_.epoch = 2;
  push(first_, 1, {1, 2});
  EXPECT_EQ(shard_->slots().shares(), 1U) << "the same round, of the epoch that is";
  EXPECT_TRUE(first_.controls().empty());
}

TEST_F(ShardTest, UnknownPartGetsFaultAndKeepsLink) {
  begin();
  first_.send(push_header({77, 0}, 1), bytes_of({1, 2}));
  step();
  const control::Fault fault = std::get<control::Fault>(first_.control());
  EXPECT_EQ(fault.tensor, 77U);
  EXPECT_EQ(fault.round, 1U);
  EXPECT_THAT(fault.why.cause(), HasSubstr("part 0 of tensor 77 is not known here"));
  open();
  first_.send(push_header({1, 1}, 1), bytes_of({1, 2}));
  step();
  EXPECT_THAT(fault_at(first_).cause(), HasSubstr("part 1 of tensor 1"));
  push(first_, 1, {1, 2});
  push(second_, 1, {1, 2});
  EXPECT_EQ(first_.data().size(), 1U);
}

TEST_F(ShardTest, DtypeMismatchReachesAllWaiters) {
  begin();
  open();
  push(first_, 1, {1, 2});
  second_.send(push_header(kKey, 1, wire::kWantsValue, Dtype::kI32), bytes_of({1, 2}));
  step();
  for (FarEnd* worker : {&first_, &second_}) {
    const Status status = fault_at(*worker);
    EXPECT_EQ(status.code(), Code::kMismatch);
    EXPECT_THAT(status.cause(), HasSubstr("tensor 'grads' is f32, a share of i32 came"));
  }
}

TEST_F(ShardTest, SizeMismatchReachesAllWaiters) {
  begin();
  open();
  push(first_, 1, {1, 2});
  push(second_, 1, {1, 2, 3});
  for (FarEnd* worker : {&first_, &second_}) {
    const Status status = fault_at(*worker);
    EXPECT_EQ(status.code(), Code::kMismatch);
    EXPECT_THAT(status.cause(), HasSubstr("worker 1 sent 12 bytes for a part of 8"));
  }
}

TEST_F(ShardTest, ConflictingSpecMismatchNamesBoth) {
  begin();
  open();
  open_at(second_, 1, spec("grads", Dtype::kF32, 3));
  step();
  const Status status = fault_at(second_);
  EXPECT_EQ(status.code(), Code::kMismatch);
  EXPECT_THAT(status.cause(),
              HasSubstr("opened as f32[3] sync sum, known here as f32[2] sync sum"));
}

TEST_F(ShardTest, AnOpenThatMakesNoSenseEndsTheLink) {
  begin();
  first_.say(control::Open{.tensor = 1});
  step();
  EXPECT_TRUE(first_.closed());
}

TEST_F(ShardTest, OnlyPushesAndPullsAreTaken) {
  begin();
  open();
  wire::Header header;
  header.kind = wire::Kind::kValue;
  header.key = kKey;
  header.dtype = static_cast<std::uint8_t>(Dtype::kF32);
  first_.send(header, bytes_of({1, 2}));
  step();
  EXPECT_THAT(fault_at(first_, 0).cause(), HasSubstr("pushes and pulls only"));
  wire::Header call;
  call.kind = wire::Kind::kCall;
  second_.send(call, bytes_of({1, 2}));
  step();
  EXPECT_THAT(fault_at(second_, 0).cause(), HasSubstr("pushes and pulls only"));
}

TEST_F(ShardTest, AWorkerThatWaitsForOnePartTooOftenIsRefused) {
  begin();
  open();
  for (int i = 0; i < 5; ++i) pull(first_, 1);
  EXPECT_TRUE(first_.controls().empty());
  pull(first_, 1);
  EXPECT_EQ(fault_at(first_, 0).code(), Code::kResource);
  pull(second_, 1);
  EXPECT_TRUE(second_.controls().empty()) << "the other worker is not to blame";
}

TEST_F(ShardTest, ARuleThatCannotBeMadeIsAFaultWithItsReason) {
  begin();
  open({.mode = Mode::kAsync, .update = {.rule = Rule::kSgd}}, Dtype::kI32);
  first_.send(push_header(kKey, 1, wire::kWantsValue, Dtype::kI32), bytes_of({1, 2}));
  step();
  EXPECT_EQ(fault_at(first_).code(), Code::kUnsupported);
}

TEST_F(ShardTest, MemoryLimitRefusalNamesNeedAndUse) {
  config_.memory_limit_bytes = 12;
  begin();
  open();
  push(first_, 1, {1, 2});
  EXPECT_EQ(shard_->slots().bytes(), 8U);
  open_at(first_, 2, spec("more", Dtype::kF32, 2));
  open_at(first_, 3, spec("little", Dtype::kF32, 1));
  first_.send(push_header({2, 0}, 1), bytes_of({1, 2}));
  step();
  const Status status = fault_at(first_, 2);
  EXPECT_EQ(status.code(), Code::kResource);
  EXPECT_THAT(status.cause(), HasSubstr("'more' needs 8 more bytes, this server may hold 12 and "
                                        "holds 8"));
  first_.send(push_header({3, 0}, 1), bytes_of({1}));
  step();
  EXPECT_TRUE(first_.controls().empty()) << "what fits is taken";
  EXPECT_EQ(shard_->slots().bytes(), 12U);
}

TEST_F(ShardTest, MemoryLimitCountsOptimizerState) {
  config_.memory_limit_bytes = 23;  // Two numbers, and two of Adam's state for each.
  begin();
  open({.mode = Mode::kAsync, .update = {.rule = Rule::kAdam}});
  first_.send(push_header(kKey, 1), bytes_of({1, 2}));
  step();
  EXPECT_THAT(fault_at(first_).cause(), HasSubstr("needs 40 more bytes"));
  EXPECT_EQ(shard_->slots().bytes(), 0U);
}

}  // namespace
}  // namespace stretto::fake

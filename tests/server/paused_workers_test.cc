// SPDX-License-Identifier: Apache-2.0
// Paused workers, and how shards request the empty contributions that a round needs from them.
#include "server/sessions/paused_workers.h"

#include "tests/server/group.h"
#include "tests/server/shard_fixture.h"

namespace stretto {
namespace {

using fake::ShardTest;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

control::SitOut sit_out(std::uint64_t number, bool over = false) {
  return {.number = number, .over = over};
}

class SittingOutAlone : public testing::Test {
 protected:
  /// The workers whose empty contributions the round requests.
  std::vector<NodeId> asked(const Consistency& rounds) {
    asked_.clear();
    out_.ask(0, fake::spec("grads", Dtype::kF32, 2), rounds);
    return asked_;
  }
  std::vector<NodeId> asked_;
  PausedWorkers out_{[this](NodeId worker, const control::Wanted&) { asked_.push_back(worker); }};
};

TEST_F(SittingOutAlone, WorkerSitsOutUntilBarrierOpens) {
  EXPECT_FALSE(out_.sits(1));
  out_.note(1, sit_out(3));
  EXPECT_TRUE(out_.sits(1));
  EXPECT_FALSE(out_.sits(0));
  out_.note(0, sit_out(3, true));
  EXPECT_FALSE(out_.sits(1));
  out_.note(2, sit_out(3));
  EXPECT_FALSE(out_.sits(2)) << "its word was late";
  out_.note(2, sit_out(4));
  EXPECT_TRUE(out_.sits(2));
  out_.note(2, sit_out(0));
  EXPECT_FALSE(out_.sits(2)) << "it makes shares again";
}

TEST_F(SittingOutAlone, ARoundWantsThoseThatItLacks) {
  Consistency rounds({}, fake::group_of(3));
  out_.note(11, sit_out(1));
  out_.note(12, sit_out(1));
  EXPECT_THAT(asked(rounds), IsEmpty()) << "no round is open";
  rounds.contribute(10, false);
  EXPECT_THAT(asked(rounds), ElementsAre(11, 12));
  rounds.contribute(12, false);
  EXPECT_THAT(asked(rounds), ElementsAre(11));
  EXPECT_TRUE(out_.in_vain(rounds, Mode::kBounded).ok());
}

TEST_F(SittingOutAlone, BoundFailsOncePausedWorkerIsSlowest) {
  Consistency rounds({.mode = Mode::kBounded, .bound = 1}, fake::group_of(2));
  rounds.contribute(11, false);
  out_.note(11, sit_out(1));
  EXPECT_TRUE(out_.in_vain(rounds, Mode::kBounded).ok()) << "the other is slower";
  for (int i = 0; i < 3; ++i) rounds.contribute(10, false);
  EXPECT_THAT(asked(rounds), IsEmpty());
  EXPECT_EQ(out_.in_vain(rounds, Mode::kBounded).code(), Code::kMismatch);
  EXPECT_THAT(out_.in_vain(rounds, Mode::kBounded).cause(), HasSubstr("bound"));
}

class PausedWorkersTest : public ShardTest {
 protected:
  void say_sit_out(fake::FarEnd& worker, std::uint64_t number, bool over = false) {
    control::SitOut message = sit_out(number, over);
    worker.say(message);
    step();
  }
};

TEST_F(PausedWorkersTest, IsAskedForEachRoundOnceAndCountsAsNothing) {
  begin();
  open({.update = {.rule = Rule::kMean}});
  say_sit_out(second_, 1);
  EXPECT_TRUE(second_.controls().empty());
  for (std::uint64_t round = 1; round <= 3; ++round) {
    push(first_, round, {8, 2});
    const control::Message asked = second_.control();
    ASSERT_TRUE(control::is<control::Wanted>(asked));
    EXPECT_EQ(std::get<control::Wanted>(asked).spec.name, "grads");
    EXPECT_EQ(std::get<control::Wanted>(asked).round, round);
    second_.send(fake::push_header(kKey, round, wire::kAbsent));
    step();
    EXPECT_THAT(fake::floats_of(first_.datum().payload.bytes()), ElementsAre(4, 1));
    second_.data();
    second_.controls();
  }
}

TEST_F(PausedWorkersTest, IsAskedForTheRoundsThatAreOpenAlready) {
  begin();
  open();
  push(first_, 1, {8, 2});
  say_sit_out(second_, 1);
  EXPECT_TRUE(control::is<control::Wanted>(second_.control()));
}

TEST_F(PausedWorkersTest, StopsAskingOncePauseIsReportedOver) {
  begin();
  open();
  say_sit_out(second_, 1);
  say_sit_out(first_, 1, true);
  push(first_, 1, {8, 2});
  EXPECT_TRUE(second_.controls().empty());
}

TEST_F(PausedWorkersTest, ABroadcastIsOfAllWorkers) {
  begin();
  open();
  say_sit_out(second_, 1);
  push(first_, 1, {8, 2}, wire::kWantsValue | wire::kAssign);
  const Status why = fault_at(first_);
  EXPECT_EQ(why.code(), Code::kMismatch);
  EXPECT_THAT(why.cause(), HasSubstr("worker 1 sits out"));
}

TEST_F(PausedWorkersTest, AWorkerThatTheBoundHoldsBackForItIsToldSo) {
  begin();
  open({.mode = Mode::kBounded, .bound = 1});
  push(first_, 1, {8, 2});
  push(first_, 2, {8, 2});
  first_.data();
  first_.controls();
  say_sit_out(second_, 1);
  const Status why = fault_at(first_);
  EXPECT_EQ(why.code(), Code::kMismatch);
  EXPECT_THAT(why.cause(), HasSubstr("worker 1 sits out, and the bound on staleness"));
}

}  // namespace
}  // namespace stretto

// SPDX-License-Identifier: Apache-2.0
// Primary and standby: the replication messages that precede each release, and the standby's
// handling of them.
#include "server/replication/replication.h"

#include "tests/server/replication_fixture.h"

namespace stretto::fake {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// ---- the primary

TEST_F(ServingTest, ReleasesRoundAfterStandbyAck) {
  begin_both();
  push(first_, 1, {1, 2});
  push(second_, 1, {10, 20});
  const auto entry = as<control::LogEntry>(standby_.control());
  EXPECT_EQ(entry.version, 1U);
  EXPECT_EQ(entry.worker, 0U);
  EXPECT_EQ(entry.total, 8U);
  EXPECT_THAT(sent_to_standby(), ElementsAre(11, 22));
  EXPECT_THAT(first_.data(), IsEmpty());
  ack(1);
  EXPECT_THAT(floats_of(first_.datum().payload.bytes()), ElementsAre(11, 22));
  EXPECT_THAT(floats_of(second_.datum().payload.bytes()), ElementsAre(11, 22));
}

TEST_F(ServingTest, RepliesDuringReplicationWaitForAck) {
  begin_both({.mode = Mode::kAsync});
  push(first_, 1, {1, 2}, 0);
  pull(second_, 0);
  probe(second_);
  EXPECT_THAT(second_.data(), IsEmpty());
  EXPECT_EQ(as<control::LogEntry>(standby_.control()).worker, first_.node);
  EXPECT_THAT(sent_to_standby(), ElementsAre(1, 2));
  ack(1);
  const auto answers = second_.data();
  ASSERT_EQ(answers.size(), 2U);
  for (const Sent& answer : answers) EXPECT_EQ(wire::ValueFacts::of(answer.header).version, 1U);
}

TEST_F(ServingTest, AcksPushAndFollowersAfterStandbyAck) {
  begin_both({.mode = Mode::kAsync});
  open_at(first_, 2, spec("rounds", Dtype::kF32, 2));
  push(first_, 1, {1, 2}, 0);
  first_.send(push_header({2, 0}, 1, 0), bytes_of({3, 4}));  // In an open round: it counts.
  pass(1s);
  first_.data();
  EXPECT_EQ(first_.heard_acked, 0U);
  standby_.data();
  ack(1);
  pass(1s);
  first_.data();
  EXPECT_EQ(first_.heard_acked, 2U);
}

TEST_F(ServingTest, APushThatIsRefusedHoldsUpNoOther) {
  begin_both({.mode = Mode::kAsync});
  open_at(first_, 2, spec("rounds", Dtype::kF32, 2));
  push(first_, 1, {1, 2, 3}, 0);
  EXPECT_EQ(fault_at(first_).code(), Code::kMismatch);
  first_.send(push_header({2, 0}, 1, 0), bytes_of({3, 4}));
  pass(1s);
  first_.data();
  EXPECT_EQ(first_.heard_acked, 2U);
}

TEST_F(ServingTest, ContinuesAloneOnceSchedulerDropsStandby) {
  begin_both();
  push(first_, 1, {1, 2});
  push(second_, 1, {10, 20});
  standby_.data();
  standby_.break_link();
  step();
  EXPECT_THAT(first_.data(), IsEmpty()) << "this server may be the one that is lost";
  lose(kStandby);
  EXPECT_THAT(floats_of(first_.datum().payload.bytes()), ElementsAre(11, 22));
  push(first_, 2, {1, 1});
  push(second_, 2, {1, 1});
  EXPECT_THAT(first_.data(), testing::SizeIs(1));
}

TEST_F(ServingTest, LateStandbyReceivesFullState) {
  begin();
  open();
  push(first_, 1, {1, 2});
  push(second_, 1, {10, 20});
  EXPECT_THAT(first_.data(), testing::SizeIs(1)) << "nobody stands by";
  add_standby();
  next_roster();
  welcome_standby();
  const auto said = standby_.controls();
  ASSERT_EQ(said.size(), 3U);
  as<control::Hello>(said[0]);
  as<control::Open>(said[1]);
  const auto& image = as<control::PartImage>(said[2]);
  EXPECT_EQ(image.version, 1U);
  EXPECT_EQ(image.finished, 1U);
  ASSERT_EQ(image.workers.size(), 2U);
  EXPECT_EQ(image.workers[0].rounds, 1U);
  EXPECT_EQ(image.total, Store::kHeadBytes + 8);
  scheduler_.controls();
  push(first_, 2, {1, 1});
  push(second_, 2, {1, 1});
  standby_.data();
  ack(1);
  EXPECT_EQ(as<control::StandbyReady>(scheduler_.control()).node, kStandby);
  const auto then = standby_.controls();
  ASSERT_EQ(then.size(), 2U);
  EXPECT_EQ(as<control::LogEntry>(then[0]).version, 2U) << "not before the image";
  EXPECT_EQ(as<control::StandbyReady>(then[1]).node, kStandby);
  EXPECT_THAT(first_.data(), testing::SizeIs(0));
  ack(2);
  EXPECT_THAT(floats_of(first_.datum().payload.bytes()), ElementsAre(2, 2));
}

TEST_F(ServingTest, StateThatIsSetGoesThereToo) {
  begin_both({.mode = Mode::kAsync, .update = {.rule = Rule::kMomentum, .rate = 1}});
  push(first_, 1, {1, 2}, 0);
  standby_.data();
  standby_.controls();
  ack(1);
  const std::string velocity(8, '\0');
  first_.say(control::StateRequest{.number = 1, .tensor = 1, .set = velocity, .total = 8});
  step();
  EXPECT_EQ(as<control::PartImage>(standby_.control()).version, 1U);
}

TEST_F(ServingTest, TellsNewSchedulerOfCaughtUpStandby) {
  roster_.settings.scheduler_absence = 10s;
  begin_both();
  EXPECT_EQ(told_to_another(kServer, 3), std::vector<NodeId>{kStandby});
}

// The update of one part causes an update of a part behind it in the same slot.
TEST_F(ServingTest, WhenTheOtherIsLostAllPartsOfASlotGoOn) {
  begin_both({.mode = Mode::kAsync});
  for (FarEnd* worker : {&first_, &second_}) {
    open_at(*worker, 2, spec("more", Dtype::kF32, 2, {.mode = Mode::kAsync}));
  }
  step();
  push(first_, 1, {1, 2});
  first_.send(push_header({2, 0}, 1), bytes_of({5, 6}));
  step();
  push(second_, 1, {10, 20});
  EXPECT_THAT(second_.data(), IsEmpty()) << "the part waits for the other";
  lose(kStandby);
  EXPECT_THAT(floats_of(second_.datum().payload.bytes()), ElementsAre(11, 22));
  EXPECT_EQ(first_.data().size(), 2U);
}

// ---- the standby

TEST_F(StandingByTest, ServesNoWorkerBeforePromotion) {
  begin_both();
  open_at(first_, 1, spec("another", Dtype::kF32, 3));
  step();
  EXPECT_THAT(first_.controls(), IsEmpty()) << "nor that this is another tensor";
  lose(kServer);
  EXPECT_FALSE(as<control::Welcome>(first_.control()).stands_by);
  EXPECT_TRUE(server_.closed());
}

TEST_F(StandingByTest, RetransmittedContributionGetsItsValue) {
  begin_both();
  update(1, {11, 22});
  EXPECT_EQ(acked(), 1U);
  promote();
  push(first_, 1, {1, 2}, wire::kWantsValue | wire::kAgain);
  EXPECT_THAT(floats_of(first_.datum().payload.bytes()), ElementsAre(11, 22));
  push(second_, 1, {10, 20}, wire::kAgain);
  EXPECT_EQ(second_.datum().header.kind, wire::Kind::kDone);
  push(first_, 2, {1, 2});
  push(second_, 2, {10, 20});
  EXPECT_THAT(floats_of(first_.datum().payload.bytes()), ElementsAre(11, 22));
}

TEST_F(StandingByTest, ARoundThatWasOpenIsMadeAgain) {
  begin_both();
  tell(control::LogEntry{.tensor = 1, .version = 1, .total = 8});  // And then the server is lost.
  promote();
  push(first_, 1, {1, 2}, wire::kWantsValue | wire::kAgain);
  EXPECT_THAT(first_.data(), IsEmpty());
  push(second_, 1, {10, 20}, wire::kWantsValue | wire::kAgain);
  EXPECT_THAT(floats_of(first_.datum().payload.bytes()), ElementsAre(11, 22));
}

TEST_F(StandingByTest, UpdatesOfSingleWorkersAreKnownByWorker) {
  begin_both({.mode = Mode::kAsync});
  update(1, {1, 2}, first_.node);
  update(2, {3, 4}, first_.node);
  update(3, {5, 6}, second_.node);
  promote();
  push(first_, 2, {3, 4}, wire::kWantsValue | wire::kAgain);
  EXPECT_THAT(floats_of(first_.datum().payload.bytes()), ElementsAre(9, 12));
  push(second_, 2, {1, 1});
  EXPECT_THAT(floats_of(second_.datum().payload.bytes()), ElementsAre(10, 13));
}

TEST_F(StandingByTest, AnImageComesInPieces) {
  begin_both();
  const SavedPartHead head{.version = 4, .value_bytes = 8, .contributors = 2};
  std::vector<std::byte> all(sizeof head + 8);
  std::memcpy(all.data(), &head, sizeof head);
  const std::vector<float> value{7, 8};
  std::memcpy(all.data() + sizeof head, value.data(), 8);
  tell(control::PartImage{
      .tensor = 1,
      .version = 4,
      .finished = 4,
      .workers = {{.node = first_.node, .rounds = 4}, {.node = second_.node, .rounds = 4}},
      .total = all.size()});
  send(4, Buffer::copy_of(std::span(all).first(20)));
  send(4, Buffer::copy_of(std::span(all).subspan(20)), 20);
  EXPECT_EQ(acked(), 2U);
  update(5, {1, 1});
  promote();
  push(first_, 6, {1, 2});
  push(second_, 6, {1, 2});
  EXPECT_EQ(wire::ValueFacts::of(first_.datum().header).version, 6U);
}

// The primary may be lost together with the scheduler that it told.
TEST_F(StandingByTest, CaughtUpStandbyTellsNewScheduler) {
  roster_.settings.scheduler_absence = 10s;
  begin_both();
  EXPECT_THAT(told_to_another(kStandby, 2), IsEmpty()) << "it has not been told so";
  tell(control::StandbyReady{.node = kStandby});
  EXPECT_THAT(told_to_another(kStandby, 3), std::vector<NodeId>{kStandby});
}

TEST_F(StandingByTest, AWorkerThatStandsStillIsNotWaitedForForEver) {
  begin_half();
  pass(11s);
  EXPECT_THAT(server_.controls(), IsEmpty());
  pass(1s);
  as<control::Welcome>(server_.control());
}

struct Contradiction {
  const char* name;
  control::Message message;
  const char* says;
};

class ContradictionTest : public StandingByTest,
                          public testing::WithParamInterface<Contradiction> {};

TEST_P(ContradictionTest, EndsTheLink) {
  begin_both();
  tell(GetParam().message);
  send(1, bytes_of({1, 2}));
  const auto said = server_.controls();
  ASSERT_FALSE(said.empty());
  EXPECT_THAT(as<control::Fault>(said.front()).why.cause(), HasSubstr(GetParam().says));
}

std::vector<Contradiction> contradictions() {
  using control::LogEntry;
  return {
      {"AnotherTensor", LogEntry{.tensor = 9, .version = 1, .total = 8}, "is not known here"},
      {"AVersionTooFar", LogEntry{.tensor = 1, .version = 2, .total = 8}, "version 2 came"},
      {"OtherBytes", LogEntry{.tensor = 1, .version = 1, .total = 4},
       "4 bytes is to come, wanted 8"},
      {"OneWorkersOfARound", LogEntry{.tensor = 1, .version = 1, .worker = 10, .total = 8},
       "another kind"},
      {"MoreListenersThanWorkers", LogEntry{.tensor = 1, .version = 1, .listeners = 3, .total = 8},
       "version 1 came"},
      {"AnImageWithoutEnd", control::PartImage{.tensor = 1, .version = 1, .total = 1 << 20},
       "at most"},
      {"WhatIsNotForIt", control::Leave{}, "tells who stands by"},
      {"AnotherTensorOfThatNumber",
       control::Open{.tensor = 1, .spec = spec("grads", Dtype::kF32, 3)}, "known here as"},
  };
}

INSTANTIATE_TEST_SUITE_P(All, ContradictionTest, testing::ValuesIn(contradictions()),
                         [](const auto& each) { return std::string(each.param.name); });

TEST_F(StandingByTest, AStrangerIsNotItsServer) {
  begin_both();
  FarEnd other{wire_, 202, 52};
  other.connect();
  control::Hello wrong = hello(Role::kServer, 0, 52);
  wrong.token = "other";
  other.say(wrong);
  step();
  EXPECT_THAT(as<control::Fault>(other.control()).why.cause(), HasSubstr("token"));
}

}  // namespace
}  // namespace stretto::fake

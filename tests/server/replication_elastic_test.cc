// SPDX-License-Identifier: Apache-2.0
// Primary and standby in an elastic job: the contributors change for both at the same updates,
// regardless of each one's news of workers.
#include "server/storage/contributor_changes.h"
#include "tests/server/replication_fixture.h"

namespace stretto::fake {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr NodeId kNewcomer = 60;

Member newcomer() {
  return {.node = kNewcomer, .role = Role::kWorker, .rank = 2, .address = {}, .from_step = 3};
}

// ---- the primary

class ServingElasticTest : public ServingTest {
 protected:
  ServingElasticTest() { roster_.settings.min_workers = 1; }

  void lose_worker(NodeId node) {
    --roster_.workers;
    for (Member& member : roster_.members) {
      if (member.node == node) member.left = member.lost = true;
      if (member.node == second_.node && node == first_.node) {
        member.rank = 0;
        member.moved_up = 1;
      }
    }
    next_roster();
  }
  void round_of_both(std::uint64_t round) {
    push(first_, round, {1, 2});
    push(second_, round, {10, 20});
  }
};

TEST_F(ServingElasticTest, ARoundThatALossCompletesIsReleasedAsAnyOther) {
  begin_both();
  push(first_, 1, {1, 2});
  lose_worker(second_.node);
  const auto entry = as<control::LogEntry>(standby_.control());
  ASSERT_TRUE(entry.regrouped.has_value());
  EXPECT_THAT(entry.regrouped->makers, ElementsAre(first_.node));
  EXPECT_THAT(entry.regrouped->workers,
              ElementsAre(control::PartImage::Standing{.node = first_.node, .rounds = 1}));
  EXPECT_THAT(sent_to_standby(), ElementsAre(1, 2));
  EXPECT_THAT(first_.data(), IsEmpty());
  ack(1);
  EXPECT_THAT(floats_of(first_.datum().payload.bytes()), ElementsAre(1, 2));
}

TEST_F(ServingElasticTest, SendsGroupOncePerChange) {
  begin_both();
  round_of_both(1);
  EXPECT_TRUE(as<control::LogEntry>(standby_.control()).regrouped.has_value()) << "the first one";
  standby_.data();
  ack(1);
  round_of_both(2);
  EXPECT_FALSE(as<control::LogEntry>(standby_.control()).regrouped.has_value());
}

TEST_F(ServingElasticTest, ALossReachesAPartOnceItsUpdateIsReleased) {
  begin_both();
  round_of_both(1);
  standby_.controls();
  standby_.data();
  lose_worker(first_.node);
  push(second_, 2, {3, 4});
  EXPECT_THAT(standby_.controls(), IsEmpty()) << "of round 1 nothing is released yet";
  ack(1);
  EXPECT_THAT(floats_of(second_.datum().payload.bytes()), ElementsAre(11, 22));
  const auto entry = as<control::LogEntry>(standby_.control());
  EXPECT_EQ(entry.version, 2U);
  EXPECT_THAT(entry.regrouped->makers, ElementsAre(second_.node));
}

TEST_F(ServingElasticTest, ReportsEmptyBroadcastAfterStandbyAck) {
  begin_both();
  push(second_, 1, {}, wire::kAssign | wire::kAbsent, 0);
  lose_worker(first_.node);
  EXPECT_THAT(second_.data(), IsEmpty());
  const auto image = as<control::PartImage>(standby_.control());
  EXPECT_EQ(image.version, 0U);
  EXPECT_EQ(image.finished, 1U);
  EXPECT_EQ(image.empty, 1U);
  EXPECT_TRUE(image.made_nothing);
  standby_.data();
  ack(1);
  EXPECT_EQ(second_.datum().header.kind, wire::Kind::kDone);
}

// ---- the standby

class StandingByElasticTest : public StandingByTest {
 protected:
  using Standing = control::PartImage::Standing;

  StandingByElasticTest() { roster_.settings.min_workers = 1; }

  void regrouped(std::uint64_t version, const std::vector<float>& numbers,
                 const std::vector<NodeId>& makers, const std::vector<Standing>& workers) {
    tell(control::LogEntry{.tensor = 1,
                           .version = version,
                           .total = 8,
                           .regrouped = control::LogEntry::Regrouped{
                               .makers = makers, .workers = workers, .finished = version}});
    send(version, bytes_of(numbers));
  }
  void lose_second() {
    roster_.workers = 1;
    roster_.members[1].left = roster_.members[1].lost = true;
  }
};

// A worker that did not receive the outcome asks the primary.
TEST_F(StandingByElasticTest, OfABroadcastThatCameToNothingItHasNoValue) {
  begin_both();
  lose_second();
  const SavedPartHead head;
  tell(control::PartImage{.tensor = 1,
                          .finished = 1,
                          .empty = 1,
                          .workers = {{.node = first_.node, .rounds = 1}},
                          .total = sizeof head,
                          .made_nothing = true});
  send(0, Buffer::copy_of(std::as_bytes(std::span(&head, 1))));
  EXPECT_EQ(acked(), 1U);
  lose(kServer);
  as<control::Welcome>(first_.control());
  first_.epoch = 2;
  push(first_, 1, {}, wire::kAssign | wire::kAbsent | wire::kWantsValue | wire::kAgain, 1);
  EXPECT_EQ(first_.datum().header.kind, wire::Kind::kDone);
}

TEST_F(StandingByElasticTest, StandbyFollowsReplicationNotRoster) {
  begin_both();
  lose_second();
  next_roster();
  update(1, {11, 22});  // It completed before the standby knew of the change.
  EXPECT_EQ(acked(), 1U);
  regrouped(2, {1, 2}, {first_.node}, {{.node = first_.node, .rounds = 2}});
  EXPECT_EQ(acked(), 2U);
  lose(kServer);
  as<control::Welcome>(first_.control());
  first_.epoch = 3;
  push(first_, 3, {5, 6});
  EXPECT_THAT(floats_of(first_.datum().payload.bytes()), ElementsAre(5, 6));
}

TEST_F(StandingByElasticTest, PromotedStandbyDropsLostWorker) {
  begin_both();
  update(1, {11, 22});
  lose_second();
  lose(kServer);
  as<control::Welcome>(first_.control());
  first_.epoch = 2;
  push(first_, 2, {5, 6});
  EXPECT_THAT(floats_of(first_.datum().payload.bytes()), ElementsAre(5, 6));
}

TEST_F(StandingByElasticTest, ANewcomerThatMadeRoundsGoesOnByItsOwnCount) {
  begin_both();
  update(1, {11, 22});
  update(2, {11, 22});
  regrouped(3, {1, 2}, {first_.node, second_.node, kNewcomer},
            {{.node = first_.node, .rounds = 3},
             {.node = second_.node, .rounds = 3, .number = 1},
             {.node = kNewcomer, .rounds = 3, .before = 2, .number = 2}});
  EXPECT_EQ(acked(), 3U);
  roster_.workers = 3;
  roster_.members.push_back(newcomer());
  promote();
  FarEnd third{wire_, 103, kNewcomer};
  third.connect();
  third.say(hello(Role::kWorker, 2, kNewcomer));
  step();
  as<control::Welcome>(third.control());
  third.epoch = 2;
  push(first_, 4, {1, 2});
  push(second_, 4, {10, 20});
  EXPECT_THAT(first_.data(), IsEmpty()) << "the newcomer is missing";
  push(third, 2, {100, 200});
  EXPECT_THAT(floats_of(third.datum().payload.bytes()), ElementsAre(111, 222));
}

TEST_F(StandingByElasticTest, WorkerAdmitsNewcomerAtPromotedStandby) {
  begin_both();
  update(1, {11, 22});
  roster_.workers = 3;
  roster_.members.push_back(newcomer());
  promote();
  const control::TakeIn said{.step = 3, .nodes = {kNewcomer}};
  first_.say(said);
  step();
  FarEnd third{wire_, 103, kNewcomer};
  third.connect();
  third.say(hello(Role::kWorker, 2, kNewcomer));
  step();
  const auto heard = third.controls();
  ASSERT_EQ(heard.size(), 2U);
  EXPECT_EQ(as<control::TakeIn>(heard[1]).step, 3U) << "it came later than that word";
  third.epoch = 2;
  push(first_, 2, {1, 2});
  push(second_, 2, {10, 20});
  EXPECT_THAT(first_.data(), IsEmpty());
  push(third, 1, {100, 200});
  EXPECT_THAT(floats_of(third.datum().payload.bytes()), ElementsAre(111, 222));
}

TEST_F(StandingByElasticTest, NewcomerAdmitsItselfAtPromotedStandby) {
  begin_both();
  update(1, {11, 22});
  roster_.workers = 3;
  roster_.members.push_back(newcomer());
  promote();
  FarEnd third{wire_, 103, kNewcomer};
  third.connect();
  third.say(hello(Role::kWorker, 2, kNewcomer));
  step();
  third.epoch = 2;
  third.say(control::TakeIn{.step = 3, .nodes = {kNewcomer}});
  step();
  push(first_, 2, {1, 2});
  push(second_, 2, {10, 20});
  EXPECT_THAT(first_.data(), IsEmpty());
  push(third, 1, {100, 200});
  EXPECT_THAT(floats_of(first_.datum().payload.bytes()), ElementsAre(111, 222));
}

TEST_F(StandingByElasticTest, ContradictoryUpdateEndsLink) {
  begin_both();
  regrouped(1, {1, 2}, {first_.node},
            {{.node = first_.node, .rounds = 1}, {.node = first_.node, .rounds = 1, .number = 1}});
  EXPECT_THAT(as<control::Fault>(server_.control()).why.cause(),
              testing::HasSubstr("an update that contradicts itself"));
}

}  // namespace
}  // namespace stretto::fake

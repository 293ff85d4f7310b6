// SPDX-License-Identifier: Apache-2.0
// How links are opened, which ends are reported, and which state is dropped with them.
#include "van/engine/link_manager.h"

#include "tests/van/parts_fixture.h"

namespace stretto {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr LinkId kTheirs = 101;
constexpr NodeId kFar = 10;

class LinkManagerTest : public fake::PartsFixture {
 protected:
  explicit LinkManagerTest(Duration patience = {}) : PartsFixture(patience) {}

  void let_in(LinkKind stay = LinkKind::kBelongs) {
    links_.accept(kTheirs);
    greet(kTheirs);
    links_.admit(kTheirs, kFar, stay);
  }
  LinkId connect() { return links_.connect("there:1", fake::hello(Role::kWorker, 0)).or_exit(); }
  void carrier_breaks(LinkId link) {
    links_.carrier_broke(link, {Code::kLinkBroken, "reset"}, seen_);
  }
};

TEST_F(LinkManagerTest, ConnectSendsHello) {
  const LinkId link = connect();
  EXPECT_THAT(wire_.connected, ElementsAre("there:1"));
  pump();
  ASSERT_THAT(wire_.sent, SizeIs(1));
  EXPECT_EQ(wire_.sent[0].link, link);
  EXPECT_TRUE(control::is<control::Hello>(sent(0)));
  EXPECT_FALSE(links_.is_open(link)) << "nobody has answered";
}

TEST_F(LinkManagerTest, KeeperNamesPeersAsUsersDo) {
  EXPECT_EQ(lives_.name_of(4), "node 4");
  links_.set_names([](NodeId node) { return node == 4 ? "worker 1" : ""; });
  EXPECT_EQ(lives_.name_of(4), "worker 1");
  EXPECT_EQ(lives_.name_of(5), "node 5");
  EXPECT_EQ(lives_.name_of(0), "an endpoint");
}

TEST_F(LinkManagerTest, WhereNothingIsConnectedNothingIsKept) {
  wire_.refusal = {Code::kNetwork, "no such host"};
  EXPECT_EQ(links_.connect("x:1", {}).status().cause(), "no such host");
  EXPECT_TRUE(lives_.empty());
}

TEST_F(LinkManagerTest, ALinkIsOpenFromItsAdmissionToItsRefusal) {
  links_.accept(kTheirs);
  greet(kTheirs);
  EXPECT_FALSE(links_.is_open(kTheirs));
  links_.admit(kTheirs, kFar);
  EXPECT_TRUE(links_.is_open(kTheirs));
  links_.refuse(kTheirs, {Code::kMalformed, "nonsense"});
  EXPECT_FALSE(links_.is_open(kTheirs));
  EXPECT_EQ(counters_.refused, 1U);
  pump();
  ASSERT_THAT(wire_.sent, SizeIs(1));
  EXPECT_EQ(std::get<control::Fault>(sent(0)).why.cause(), "nonsense");
}

TEST_F(LinkManagerTest, RefusedLinkClosesAfterTimeToSendFault) {
  let_in();
  links_.refuse(kTheirs, {Code::kMalformed, "nonsense"});
  links_.expire(seen_);
  EXPECT_THAT(wire_.closed, IsEmpty());
  pass(2s);
  links_.expire(seen_);
  EXPECT_THAT(wire_.closed, ElementsAre(kTheirs));
  ASSERT_THAT(seen_.broken, SizeIs(1));
  EXPECT_THAT(seen_.broken[0].second.cause(), HasSubstr("it was refused"));
  EXPECT_EQ(counters_.breaks, 1U);
}

TEST_F(LinkManagerTest, ClosesSilentConnectionWithoutReport) {
  links_.accept(kTheirs);
  pass(6s);
  links_.expire(seen_);
  EXPECT_THAT(wire_.closed, ElementsAre(kTheirs));
  EXPECT_THAT(seen_.broken, IsEmpty());
}

TEST_F(LinkManagerTest, TheEndOfAMembersLinkIsABreak) {
  let_in();
  carrier_breaks(kTheirs);
  EXPECT_THAT(seen_.broken, SizeIs(1));
  EXPECT_EQ(counters_.breaks, 1U);
  EXPECT_TRUE(lives_.empty());
}

// With frame checksums, invalid bytes are corruption and not misbehaviour.
TEST_F(LinkManagerTest, NonsenseOnALinkWithChecksumsIsABreak) {
  let_in();
  links_.carrier_broke(kTheirs, {Code::kMalformed, "no frame"}, seen_);
  ASSERT_THAT(seen_.broken, SizeIs(1));
  EXPECT_EQ(seen_.broken[0].second.code(), Code::kMalformed);

  let_in();
  lives_.find(kTheirs)->gets_checksums = true;
  links_.carrier_broke(kTheirs, {Code::kMalformed, "no frame"}, seen_);
  ASSERT_THAT(seen_.broken, SizeIs(2));
  EXPECT_EQ(seen_.broken[1].second.code(), Code::kLinkBroken);
  EXPECT_EQ(counters_.corrupted, 1U);
}

TEST_F(LinkManagerTest, TheEndOfAVisitorsLinkIsToldButIsNone) {
  let_in(LinkKind::kVisits);
  carrier_breaks(kTheirs);
  EXPECT_THAT(seen_.broken, SizeIs(1));
  EXPECT_EQ(counters_.breaks, 0U);
}

TEST_F(LinkManagerTest, AStrangersLinkEndsUnheard) {
  links_.accept(kTheirs);
  carrier_breaks(kTheirs);
  EXPECT_THAT(seen_.broken, IsEmpty());
  EXPECT_TRUE(lives_.empty());
}

TEST_F(LinkManagerTest, ClosedLinkIsForgottenAndNotReported) {
  const LinkId link = connect();
  links_.close(link);
  EXPECT_THAT(wire_.closed, ElementsAre(link));
  EXPECT_TRUE(sender_.queue().idle()) << "the hello went with its link";
  carrier_breaks(link);
  links_.close(link);
  EXPECT_THAT(wire_.closed, SizeIs(1));
  EXPECT_THAT(seen_.broken, IsEmpty());
}

TEST_F(LinkManagerTest, AllAreClosedAtOnce) {
  let_in();
  const LinkId ours = connect();
  links_.close_all();
  EXPECT_THAT(wire_.closed, testing::UnorderedElementsAre(ours, kTheirs));
  EXPECT_TRUE(lives_.empty());
}

TEST_F(LinkManagerTest, StrangersBeyondALimitAreClosedAsTheyCome) {
  LinkId next = kTheirs;
  while (!lives_.unsettled().full()) links_.accept(next++);
  EXPECT_THAT(wire_.closed, IsEmpty());
  links_.accept(next);
  EXPECT_THAT(wire_.closed, ElementsAre(next));
  EXPECT_EQ(counters_.refused, 1U);
  EXPECT_EQ(lives_.find(next), nullptr);
}

class PatientLinkKeeper : public LinkManagerTest {
 protected:
  PatientLinkKeeper() : LinkManagerTest(1s) {}
};

TEST_F(PatientLinkKeeper, ABrokenLinkIsMadeAnewBeforeAnybodyHearsOfIt) {
  const LinkId link = connect();
  links_.admit(link, kFar);
  carrier_breaks(link);
  EXPECT_THAT(seen_.broken, IsEmpty());
  links_.mend(seen_);
  EXPECT_THAT(wire_.connected, ElementsAre("there:1", "there:1"));
  EXPECT_THAT(seen_.broken, IsEmpty());
  EXPECT_EQ(counters_.breaks, 1U);
}

TEST_F(PatientLinkKeeper, ReconnectTimeoutEndsSessionWithOneBreak) {
  const LinkId link = connect();
  links_.admit(link, kFar);
  carrier_breaks(link);
  links_.mend(seen_);
  pass(2s);
  links_.mend(seen_);
  ASSERT_THAT(seen_.broken, SizeIs(1));
  EXPECT_EQ(seen_.broken[0].first, link);
  EXPECT_EQ(seen_.broken[0].second.cause(), "reset");
  EXPECT_EQ(counters_.breaks, 1U);
  EXPECT_TRUE(lives_.empty());
}

}  // namespace
}  // namespace stretto

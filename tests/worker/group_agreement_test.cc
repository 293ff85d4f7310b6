// SPDX-License-Identifier: Apache-2.0
// The members that continue together, by the proposals of all.
#include "worker/peers/group_agreement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stretto {
namespace {

using control::Regroup;
using testing::ElementsAre;
using testing::IsEmpty;

using Nodes = std::vector<NodeId>;

Regroup wants(Nodes members, std::uint64_t generation = 1,
              std::vector<Regroup::Finished> finished = {}) {
  return {.generation = generation, .members = std::move(members), .finished = std::move(finished)};
}

class GroupAgreementTest : public testing::Test {
 protected:
  Nodes decided(const Nodes& current) {
    last_ = choice_.decide(1, current);
    return last_ ? last_->members : Nodes();
  }

  GroupAgreement choice_;
  std::optional<Regroup> last_;
};

TEST_F(GroupAgreementTest, DecisionRequiresAllContinuingMembers) {
  choice_.note(1, wants({1, 2, 3}, 0));
  EXPECT_THAT(decided({}), IsEmpty());
  choice_.note(2, wants({1, 2, 3}, 0));
  EXPECT_THAT(decided({}), IsEmpty());
  choice_.note(3, wants({1, 2, 3}, 0));
  EXPECT_THAT(decided({}), ElementsAre(1, 2, 3));
  EXPECT_EQ(last_->generation, 1U);
  EXPECT_TRUE(last_->decided);
  EXPECT_THAT(decided({1, 2, 3}), IsEmpty()) << "what was said is used up";
}

TEST_F(GroupAgreementTest, AgreementTakesLeastFinishedRounds) {
  choice_.note(1, wants({1, 2}, 4, {{.tensor = 7, .least = 5, .ahead = {0, 1, 0}}}));
  choice_.note(2, wants({1, 2}, 6,
                        {{.tensor = 7, .least = 5, .ahead = {1, 0, 1}},
                         {.tensor = 9, .least = 2, .ahead = {}}}));
  EXPECT_THAT(decided({1, 2, 3}), ElementsAre(1, 2));
  EXPECT_EQ(last_->generation, 7U) << "above all that there have been";
  EXPECT_THAT(last_->finished, ElementsAre(Regroup::Finished{.tensor = 7, .least = 5},
                                           Regroup::Finished{.tensor = 9, .least = 2}));
}

/// A worker still in the step before a join has lost a member meanwhile.
TEST_F(GroupAgreementTest, ALossIsMendedBeforeNewcomersComeIn) {
  choice_.note(1, wants({1, 2, 5}));
  choice_.note(5, wants({1, 2, 5}, 0));
  EXPECT_THAT(decided({1, 2, 3}), IsEmpty()) << "2 has not said anything";
  choice_.note(2, wants({1, 2}));
  EXPECT_THAT(decided({1, 2, 3}), ElementsAre(1, 2));
  choice_.note(1, wants({1, 2, 5}, 2));
  EXPECT_THAT(decided({1, 2}), IsEmpty()) << "nobody is lost, and 2 is not there yet";
  choice_.note(2, wants({1, 2, 5}, 2));
  EXPECT_THAT(decided({1, 2}), ElementsAre(1, 2, 5)) << "what the newcomer said still holds";
}

/// It makes rounds again since that decision, so its older proposal is void.
TEST_F(GroupAgreementTest, AWordFromBeforeADecisionIsNone) {
  choice_.note(1, wants({1, 2}));
  choice_.note(2, wants({1, 2}));
  EXPECT_THAT(decided({1, 2, 3}), ElementsAre(1, 2));
  choice_.note(2, wants({1, 2, 4}));
  choice_.note(4, wants({1, 2, 4}, 0));
  choice_.note(1, wants({1, 2, 4}, 2));
  EXPECT_THAT(decided({1, 2}), IsEmpty());
  choice_.note(2, wants({1, 2, 4}, 2));
  EXPECT_THAT(decided({1, 2}), ElementsAre(1, 2, 4));
}

/// It has rejected the decision, and accepts no later one unless its proposal counts.
TEST_F(GroupAgreementTest, ProposalCrossingDecisionStillCounts) {
  choice_.note(1, wants({1, 2, 3}, 0));
  choice_.note(2, wants({1, 2, 3}, 0));
  choice_.note(3, wants({1, 2, 3}, 0));
  EXPECT_THAT(decided({}), ElementsAre(1, 2, 3));
  choice_.note(2, wants({1, 2}, 0));  // It received the roster without 3 before the decision.
  EXPECT_THAT(decided({1, 2, 3}), IsEmpty());
  choice_.note(1, wants({1, 2}, 1));
  EXPECT_THAT(decided({1, 2, 3}), ElementsAre(1, 2));
  EXPECT_EQ(last_->generation, 2U);
}

TEST_F(GroupAgreementTest, DisagreementOnLossesDelaysDecision) {
  choice_.note(1, wants({1, 2, 3}));
  choice_.note(2, wants({1, 2}));
  choice_.note(3, wants({1, 2, 3}));
  EXPECT_THAT(decided({1, 2, 3, 4}), IsEmpty()) << "2 knows that 3 is lost, and so will 1";
  choice_.note(1, wants({1, 2}));
  EXPECT_THAT(decided({1, 2, 3, 4}), ElementsAre(1, 2));
}

TEST(LeastOf, PartsThatOneDoesNotNameAreAtItsLeast) {
  const Regroup::Finished made =
      least_of({.tensor = 1, .least = 3, .ahead = {0, 2}}, {.tensor = 1, .least = 4, .ahead = {}});
  EXPECT_EQ(made, (Regroup::Finished{.tensor = 1, .least = 3, .ahead = {0, 1}}));
}

}  // namespace
}  // namespace stretto

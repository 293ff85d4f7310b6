// SPDX-License-Identifier: Apache-2.0
// One tree node in a round: which frames it adds, when it sends, and which frames it rejects.
#include "collective/reduction.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stretto::collective {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Send = Effects::Send;
using Order = Reduction::Order;

///   0 - 1 - { 2, 3 - 4 }
Tree tree() { return *Tree::of({0, 0, 1, 1, 3}); }

IndexSet five(const std::vector<Place>& places, std::uint32_t limit = 5) {
  IndexSet made(limit);
  for (const Place place : places) made.insert(place);
  return made;
}

TEST(Reduction, AddsOnArrivalAndSendsCompleteSumUp) {
  Reduction at(tree().node(1), Order::kArrival);
  EXPECT_FALSE(at.begun());
  EXPECT_THAT(at.awaited(), ElementsAre(1, 2, 3));
  const Effects first = *at.partial(3, five({3, 4}), Given::kSum);
  EXPECT_THAT(first.add, ElementsAre(3));
  EXPECT_EQ(first.send, Send::kNothing);
  EXPECT_TRUE(at.begun());
  EXPECT_THAT(at.own(Given::kSum).add, ElementsAre(1));
  EXPECT_THAT(at.awaited(), ElementsAre(2));
  const Effects last = *at.partial(2, five({2}), Given::kSum);
  EXPECT_THAT(last.add, ElementsAre(2));
  EXPECT_EQ(last.send, Send::kUp);
  EXPECT_FALSE(last.done);
  EXPECT_THAT(at.contributors().members(), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(at.awaited(), ElementsAre(0));
  const Effects value = *at.value(0, five({0, 1, 2, 3, 4}));
  EXPECT_EQ(value.adopt, 0U);
  EXPECT_EQ(value.send, Send::kDown);
  EXPECT_TRUE(value.done && at.done());
  EXPECT_THAT(at.awaited(), IsEmpty());
  EXPECT_EQ(at.contributors().size(), 5U);
  at.restart();
  EXPECT_FALSE(at.begun() || at.done() || at.has_bytes());
}

TEST(Reduction, RootFinishesWhenSumIsComplete) {
  Reduction root(tree().node(0), Order::kArrival);
  EXPECT_EQ(root.own(Given::kSum).send, Send::kNothing);
  const Effects last = *root.partial(1, five({1, 2, 3, 4}), Given::kSum);
  EXPECT_THAT(last.add, ElementsAre(1));
  EXPECT_EQ(last.send, Send::kDown);
  EXPECT_TRUE(last.done);
  EXPECT_EQ(last.adopt, kNobody);
}

TEST(Reduction, ALeafSendsItsOwnAndAloneIsDone) {
  Reduction leaf(tree().node(4), Order::kArrival);
  const Effects own = leaf.own(Given::kSum);
  EXPECT_THAT(own.add, ElementsAre(4));
  EXPECT_EQ(own.send, Send::kUp);
  const Effects value = *leaf.value(3, five({0, 1, 2, 3, 4}));
  EXPECT_EQ(value.send, Send::kNothing);
  EXPECT_TRUE(value.done);
  Reduction alone(Tree::of({0})->node(0), Order::kPlaces);
  EXPECT_TRUE(alone.own(Given::kSum).done);
}

TEST(Reduction, ARelayAddsNothingOfItsOwn) {
  Reduction relay(Tree::of({0, 0, 0}, {0})->node(0), Order::kPlaces);
  EXPECT_THAT(relay.partial(2, five({2}, 3), Given::kSum)->add, IsEmpty());
  const Effects last = *relay.partial(1, five({1}, 3), Given::kSum);
  EXPECT_THAT(last.add, ElementsAre(1, 2));
  EXPECT_TRUE(last.done);
  EXPECT_THAT(relay.contributors().members(), ElementsAre(1, 2));
}

TEST(Reduction, PlaceOrderBuffersEarlyContribution) {
  Reduction at(tree().node(1), Order::kPlaces);
  EXPECT_THAT(at.partial(3, five({3, 4}), Given::kSum)->add, IsEmpty());
  EXPECT_FALSE(at.has_bytes());
  EXPECT_THAT(at.own(Given::kSum).add, ElementsAre(1));
  const Effects last = *at.partial(2, five({2}), Given::kSum);
  EXPECT_THAT(last.add, ElementsAre(2, 3));
  EXPECT_EQ(last.send, Send::kUp);
}

TEST(Reduction, EmptyContributionCountsInSet) {
  for (const Order order : {Order::kArrival, Order::kPlaces}) {
    Reduction at(tree().node(3), order);
    EXPECT_THAT(at.own(Given::kNothing).add, IsEmpty());
    const Effects last = *at.partial(4, five({4}), Given::kNothing);
    EXPECT_THAT(last.add, IsEmpty());
    EXPECT_EQ(last.send, Send::kUp);
    EXPECT_FALSE(at.has_bytes());
    EXPECT_THAT(at.contributors().members(), ElementsAre(3, 4));
  }
}

TEST(Reduction, AcceptsPartialSubtreeAndAwaitsRest) {
  Reduction at(tree().node(1), Order::kArrival);
  at.own(Given::kSum);
  ASSERT_TRUE(at.partial(2, five({2}), Given::kSum).ok());
  EXPECT_EQ(at.partial(3, five({4}), Given::kSum)->send, Send::kNothing);
  EXPECT_THAT(at.awaited(), ElementsAre(3));
  EXPECT_EQ(at.partial(3, five({3}), Given::kSum)->send, Send::kUp);
}

TEST(Reduction, IgnoresDuplicateContribution) {
  Reduction at(tree().node(1), Order::kArrival);
  ASSERT_TRUE(at.partial(2, five({2}), Given::kSum).ok());
  const Effects again = *at.partial(2, five({2}), Given::kSum);
  EXPECT_THAT(again.add, IsEmpty());
  EXPECT_EQ(again.send, Send::kNothing);
  at.own(Given::kSum);
  ASSERT_TRUE(at.partial(3, five({3, 4}), Given::kSum).ok());
  EXPECT_EQ(at.partial(3, five({4}), Given::kSum)->send, Send::kNothing);
  ASSERT_TRUE(at.value(0, five({0, 1, 2, 3, 4})).ok());
  EXPECT_FALSE(at.value(0, five({0, 1, 2, 3, 4}))->done);
}

/// A round that is redone after a loss: 5 has failed, and 2 has the value already.
TEST(Reduction, AValueTakesThePlaceOfSums) {
  const Tree smaller = *Tree::of({0, 0, 1, 1, 3, kNobody});
  const IndexSet all = five({0, 1, 2, 3, 4, 5}, 6);
  for (const Order order : {Order::kArrival, Order::kPlaces}) {
    Reduction at(smaller.node(1), order);
    at.own(Given::kSum);
    const Effects known = *at.partial(2, all, Given::kValue);
    EXPECT_EQ(known.adopt, 2U);
    EXPECT_THAT(known.add, IsEmpty());
    EXPECT_TRUE(at.has_value());
    const Effects last = *at.partial(3, five({3, 4}, 6), Given::kSum);
    EXPECT_THAT(last.add, IsEmpty());
    EXPECT_EQ(last.adopt, kNobody);
    EXPECT_EQ(last.send, Send::kUp);
    EXPECT_EQ(at.contributors(), all);
    Reduction root(smaller.node(0), order);
    EXPECT_EQ(root.own_value(all).adopt, 0U);
    const Effects end = *root.partial(1, all, Given::kValue);
    EXPECT_EQ(end.adopt, kNobody) << "it has the same bytes";
    EXPECT_EQ(end.send, Send::kDown);
    EXPECT_EQ(root.contributors(), all);
  }
}

TEST(Reduction, RejectsInvalidContributionsAndValues) {
  Reduction at(tree().node(1), Order::kArrival);
  const auto refusal = [&at](Place child, const IndexSet& from, Given given = Given::kSum) {
    const Result<Effects> effects = at.partial(child, from, given);
    EXPECT_EQ(effects.status().code(), Code::kMalformed);
    return effects.status().text();
  };
  EXPECT_THAT(refusal(4, five({4})), HasSubstr("place 4 came, which is no child here"));
  EXPECT_THAT(refusal(0, five({0})), HasSubstr("no child"));
  EXPECT_THAT(refusal(2, five({})), HasSubstr("names no contributors"));
  EXPECT_THAT(refusal(2, five({2}, 70)), HasSubstr("names no contributors here"));
  EXPECT_THAT(refusal(2, five({2, 3})), HasSubstr("names others than those below it"));
  EXPECT_THAT(refusal(3, five({3}), Given::kValue), HasSubstr("lacks some below it"));
  ASSERT_TRUE(at.partial(3, five({4}), Given::kSum).ok());
  EXPECT_THAT(refusal(3, five({3, 4})), HasSubstr("overlaps"));
  ASSERT_TRUE(at.partial(2, five({1, 2}), Given::kValue).ok());
  EXPECT_THAT(refusal(3, five({3, 4}), Given::kValue), HasSubstr("another value"));
  EXPECT_THAT(at.value(0, five({0, 1, 2, 3, 4})).status().text(), HasSubstr("before its sum"));
  EXPECT_THAT(at.value(2, five({0, 1, 2, 3, 4})).status().text(), HasSubstr("no parent here"));
  at.own(Given::kSum);
  ASSERT_EQ(at.partial(3, five({3}), Given::kSum)->send, Send::kUp);
  EXPECT_THAT(at.value(0, five({0, 1, 2, 4})).status().text(), HasSubstr("lacks contributions"));
  Reduction ordered(tree().node(1), Order::kPlaces);
  EXPECT_THAT(ordered.partial(3, five({4}), Given::kSum).status().text(),
              HasSubstr("is not of all below it"));
  EXPECT_FALSE(ordered.begun());
}

TEST(ReductionDeathTest, AContributionCountsOnce) {
  Reduction at(tree().node(1), Order::kArrival);
  at.own(Given::kSum);
  EXPECT_DEATH(at.own(Given::kSum), "stretto bug");
  Reduction relay(Tree::of({0, 0}, {0})->node(0), Order::kArrival);
  EXPECT_DEATH(relay.own(Given::kSum), "stretto bug");
}

}  // namespace
}  // namespace stretto::collective

// SPDX-License-Identifier: Apache-2.0
// Which classes form a valid strategy, and how it deals parts to them.
#include "collective/strategy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace stretto::collective {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

RootClass star(Place root, Place members, std::uint32_t weight) {
  return {.tree = *Tree::of(std::vector<Place>(members, root)), .weight = weight};
}

std::string strategy_refusal(std::vector<RootClass> classes) {
  return Strategy::of(Primitive::kDirect, std::move(classes)).status().text();
}

TEST(Strategy, RejectsInvalidClasses) {
  EXPECT_THAT(strategy_refusal({}), HasSubstr("0 classes of parts"));
  EXPECT_THAT(strategy_refusal({star(0, 2, 0), star(1, 2, 0)}),
              HasSubstr("no class has a weight above 0"));
  EXPECT_THAT(strategy_refusal({star(0, 2, 1), star(1, 3, 1)}),
              HasSubstr("other members contribute to root 1 than to root 0"));
  EXPECT_THAT(strategy_refusal({star(0, 2, kMostWeight + 1)}), HasSubstr("weight 1048577"));
}

TEST(Strategy, DescribesItself) {
  EXPECT_EQ(Strategy::of(Primitive::kDirect, {star(0, 2, 1), star(1, 2, 1)})->describe(),
            "direct of 2");
  EXPECT_EQ(Strategy::of(Primitive::kDirect, {star(0, 2, 3), star(1, 2, 1)})->describe(),
            "direct of 2, parts in proportion 0: 0.750 1: 0.250");
}

TEST(Strategy, AClassWithoutWeightGetsNoPart) {
  const auto strategy =
      Strategy::of(Primitive::kDirect, {star(0, 3, 0), star(1, 3, 2), star(2, 3, 1)});
  EXPECT_THAT(strategy->deal(6), ElementsAre(1, 1, 2, 1, 1, 2));
}

/// After any number of parts each class has its proportional number of them, to less than 1.
TEST(Strategy, DealsPartsEvenlyForAnyWeights) {
  std::mt19937_64 random(1);
  for (int run = 0; run < 200; ++run) {
    const auto members = static_cast<Place>(1 + random() % 9);
    std::vector<RootClass> classes;
    double total = 0;
    for (Place root = 0; root < members; ++root) {
      const auto weight = static_cast<std::uint32_t>(1 + random() % (1U << (random() % 20)));
      classes.push_back(star(root, members, weight));
      total += weight;
    }
    const auto strategy = Strategy::of(Primitive::kDirect, classes);
    std::vector<double> dealt(members);
    double parts = 0;
    for (const std::uint16_t at : strategy->deal(300)) {
      dealt[at] += 1;
      parts += 1;
      for (Place root = 0; root < members; ++root) {
        ASSERT_LT(std::fabs(dealt[root] - parts * classes[root].weight / total), 1) << run;
      }
    }
  }
}

TEST(Weights, AreInProportion) {
  EXPECT_THAT(weights_of({0.5, 0.25, 0, 0.25}), ElementsAre(65536, 32768, 0, 32768));
}

}  // namespace
}  // namespace stretto::collective

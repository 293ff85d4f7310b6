// SPDX-License-Identifier: Apache-2.0
// Which gradients are fused: small cases by hand, and larger ones against all possible groupings of
// a few gradients.
#include "collective/fusion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <random>
#include <utility>

namespace stretto::collective {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr double kInfinite = std::numeric_limits<double>::infinity();
constexpr std::uint64_t kAny = std::numeric_limits<std::uint64_t>::max();
constexpr ExchangeCost kCost{.start_s = 1, .bytes_per_second = 100};  // 100 bytes take a second.

std::vector<Gradient> every(double seconds, std::size_t count, std::uint64_t bytes) {
  std::vector<Gradient> gradients;
  for (std::size_t i = 0; i < count; ++i) {
    gradients.push_back({.bytes = bytes, .ready_s = seconds * static_cast<double>(i + 1)});
  }
  return gradients;
}

TEST(Fusion, NothingMakesNoGroups) {
  EXPECT_THAT(fuse({}, kCost, kAny), IsEmpty());
  EXPECT_THAT(fuse_by_bytes({}, 10), IsEmpty());
  EXPECT_EQ(exchanged({}, {}, kCost).end_s, 0);
}

TEST(Fusion, WhereStartsCostNothingEachTravelsAlone) {
  EXPECT_THAT(fuse(every(1, 4, 100), {.start_s = 0, .bytes_per_second = 100}, kAny),
              ElementsAre(1, 1, 1, 1));
}

TEST(Fusion, FusesSimultaneousGradients) {
  EXPECT_THAT(fuse(every(0, 5, 100), kCost, kAny), ElementsAre(5));
}

TEST(Fusion, DoesNotWaitLongerThanStartCost) {
  EXPECT_THAT(fuse(every(2, 3, 10), kCost, kAny), ElementsAre(1, 1, 1));
}

// The first exchange ends at 11; gradients that become ready before then form the next group.
TEST(Fusion, GroupsGrowWhileTheLinkIsBusy) {
  const std::vector<Gradient> gradients{{.bytes = 1000, .ready_s = 0},
                                        {.bytes = 10, .ready_s = 2},
                                        {.bytes = 10, .ready_s = 5},
                                        {.bytes = 10, .ready_s = 11.5},
                                        {.bytes = 500, .ready_s = 13}};
  EXPECT_THAT(fuse(gradients, kCost, kAny), ElementsAre(1, 3, 1));
}

TEST(Fusion, LimitsGroupBytesExceptLargerGradient) {
  const std::vector<Gradient> gradients{
      {.bytes = 40}, {.bytes = 40}, {.bytes = 40}, {.bytes = 500}, {.bytes = 1}};
  EXPECT_THAT(fuse(gradients, kCost, 100), ElementsAre(2, 1, 1, 1));
  EXPECT_THAT(fuse_by_bytes(gradients, 100), ElementsAre(2, 1, 1, 1));
}

// The first gradient is due at 2.5: its exchange ends at 2 alone, and at 3 with the second one.
TEST(Fusion, DoesNotDelayGradientPastDueTime) {
  std::vector<Gradient> gradients{
      {.bytes = 100, .due_s = 2.5}, {.bytes = 100, .due_s = 9}, {.bytes = 100, .due_s = 9}};
  EXPECT_THAT(fuse(gradients, kCost, kAny), ElementsAre(1, 2));
  for (Gradient& each : gradients) each.due_s = 4;  // All three together are in time.
  EXPECT_THAT(fuse(gradients, kCost, kAny), ElementsAre(3));
}

TEST(Fusion, TimesFollowOneAnother) {
  const std::vector<Gradient> gradients = every(1, 3, 100);
  EXPECT_EQ(exchanged(gradients, std::vector<std::size_t>{1, 1, 1}, kCost).end_s, 7);
  EXPECT_EQ(exchanged(gradients, std::vector<std::size_t>{3}, kCost).end_s, 7);
  EXPECT_EQ(exchanged(gradients, std::vector<std::size_t>{1, 2}, kCost).end_s, 6);
}

// Tries all groupings of ten gradients: bit i of `ends` says that a group ends after gradient i.
Exchanged best_of(std::span<const Gradient> gradients, std::uint64_t most_bytes) {
  Exchanged best{.end_s = kInfinite, .late_s = kInfinite};
  for (std::uint32_t ends = 0; ends < 1U << (gradients.size() - 1); ++ends) {
    std::vector<std::size_t> groups{1};
    std::uint64_t bytes = gradients.front().bytes;
    bool fits = true;
    for (std::size_t i = 1; i < gradients.size(); ++i) {
      if (((ends >> (i - 1)) & 1U) != 0) {
        groups.push_back(0);
        bytes = 0;
      }
      ++groups.back();
      bytes += gradients[i].bytes;
      fits = fits && (groups.back() == 1 || bytes <= most_bytes);
    }
    const Exchanged found = exchanged(gradients, groups, kCost);
    if (fits && std::pair(found.late_s, found.end_s) < std::pair(best.late_s, best.end_s)) {
      best = found;
    }
  }
  return best;
}

std::vector<Gradient> some_gradients(std::mt19937& random, bool due) {
  std::uniform_real_distribution<double> gap(0, 2);
  std::uniform_int_distribution<std::uint64_t> bytes(1, 200);
  std::vector<Gradient> gradients;
  double at = 0;
  for (int i = 0; i < 10; ++i) {
    gradients.push_back({.bytes = bytes(random), .ready_s = at});
    at += gap(random);
  }
  for (Gradient& each : gradients) {
    if (due) each.due_s = at + 10 * gap(random);
  }
  return gradients;
}

TEST(Fusion, IsTheBestGroupingOfAFew) {
  std::mt19937 random(7);
  for (int trial = 0; trial < 200; ++trial) {
    const std::uint64_t most_bytes = trial % 3 == 0 ? 300 : kAny;
    const std::vector<Gradient> gradients = some_gradients(random, trial % 2 == 0);
    const std::vector<std::size_t> groups = fuse(gradients, kCost, most_bytes);
    ASSERT_EQ(std::accumulate(groups.begin(), groups.end(), std::size_t{0}), 10U);
    const Exchanged found = exchanged(gradients, groups, kCost);
    const Exchanged best = best_of(gradients, most_bytes);
    if (trial % 2 == 0) {
      EXPECT_THAT(found.late_s, DoubleNear(best.late_s, 1e-6)) << "trial " << trial;
    } else {
      EXPECT_THAT(found.end_s, DoubleNear(best.end_s, 1e-9)) << "trial " << trial;
    }
  }
}

}  // namespace
}  // namespace stretto::collective

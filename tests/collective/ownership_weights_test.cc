// SPDX-License-Identifier: Apache-2.0
// The lower bound for every mixture of trees, and the weights that reach it.
#include "collective/ownership_weights.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "collective/strategies.h"

namespace stretto::collective {
namespace {

using testing::DoubleNear;
using testing::Each;

std::vector<MemberRate> paces(const std::vector<double>& rates) {
  std::vector<MemberRate> members;
  for (const double rate : rates) members.push_back({.rate = rate, .late = 0});
  return members;
}

/// Time of a round by `direct` with these proportions: the latest end of any member.
double seconds_of_direct(double bytes, const std::vector<MemberRate>& members,
                         const std::vector<double>& shares) {
  double seconds = 0;
  for (std::size_t at = 0; at < members.size(); ++at) {
    const double carried = 1 + (static_cast<double>(members.size()) - 2) * shares[at];
    seconds = std::max(seconds, members[at].late + bytes * carried / members[at].rate);
  }
  return seconds;
}

TEST(Weights, AlikeMembersOwnAlikeParts) {
  for (const std::size_t count : {1U, 2U, 3U, 8U}) {
    const std::vector<MemberRate> members = paces(std::vector<double>(count, 5.0));
    EXPECT_THAT(shares_of(100, members), Each(DoubleNear(1.0 / static_cast<double>(count), 1e-9)));
    EXPECT_NEAR(least_seconds(100, members),
                20.0 * 2 * static_cast<double>(count - 1) / static_cast<double>(count), 1e-9);
  }
}

TEST(Weights, SlowLinkOwnsNothingWhenOwnBytesDominate) {
  const std::vector<double> shares = shares_of(1, paces({1, 1, 1, 0.5}));
  EXPECT_NEAR(shares[3], 0, 1e-9);
  EXPECT_NEAR(shares[0], 1.0 / 3, 1e-9);
  EXPECT_NEAR(least_seconds(1, paces({1, 1, 1, 0.5})), 2, 1e-9);
}

TEST(Weights, LateMemberOwnsLess) {
  std::vector<MemberRate> members = paces({1, 1, 1, 1});
  EXPECT_NEAR(least_seconds(1, members), 1.5, 1e-9);
  members[2].late = 0.25;
  EXPECT_LT(shares_of(1, members)[2], 0.2);
  members[2].late = 1;  // Once it is ready, it carries only its own bytes.
  EXPECT_NEAR(shares_of(1, members)[2], 0, 1e-9);
  EXPECT_NEAR(least_seconds(1, members), 2, 1e-9);
}

TEST(Weights, MeetTheirTime) {
  std::mt19937_64 random(2);
  std::uniform_real_distribution<double> rate(0.05, 1);
  for (int run = 0; run < 500; ++run) {
    std::vector<MemberRate> members(3 + random() % 7);
    for (MemberRate& one : members) {
      one = {.rate = rate(random), .late = run % 2 == 0 ? 0.0 : 3 * rate(random)};
    }
    const std::vector<double> shares = shares_of(1, members);
    EXPECT_NEAR(std::accumulate(shares.begin(), shares.end(), 0.0), 1, 1e-9);
    EXPECT_LE(seconds_of_direct(1, members, shares), least_seconds(1, members) * (1 + 1e-9));
  }
}

/// The loads of all trees over up to six members: how much each member carries. Equal loads of
/// different trees appear once.
std::vector<std::vector<double>> loads_of_all_trees(std::uint32_t members) {
  std::vector<std::vector<double>> loads;
  Places parents(members, 0);
  for (bool more = true; more;) {
    if (const Result<Tree> tree = Tree::of(parents); tree.ok()) {
      std::vector<double> load(members);
      for (Place place = 0; place < members; ++place) {
        if (place == tree->root()) continue;
        load[place] += 1;
        load[parents[place]] += 1;
      }
      loads.push_back(std::move(load));
    }
    std::size_t at = 0;
    while (at < members && ++parents[at] == members) parents[at++] = 0;
    more = at < members;
  }
  std::ranges::sort(loads);
  loads.erase(std::unique(loads.begin(), loads.end()), loads.end());
  return loads;
}

/// The oracle, for any cost of a byte at each member: a mixture of trees costs at least as much as
/// its cheapest tree. In T seconds the members can pay T times the sum of rates times costs. The
/// quotient is a lower bound for every mixture; the weights reach the greatest bound.
TEST(Weights, NoMixtureOfTreesIsFaster) {
  std::mt19937_64 random(3);
  std::uniform_real_distribution<double> drawn(0.05, 1);
  for (std::uint32_t members = 2; members <= 6; ++members) {
    const std::vector<std::vector<double>> loads = loads_of_all_trees(members);
    const auto bound = [&](const std::vector<double>& costs, const std::vector<MemberRate>& paces) {
      double cheapest = std::numeric_limits<double>::max();
      for (const std::vector<double>& load : loads) {
        cheapest =
            std::min(cheapest, std::inner_product(load.begin(), load.end(), costs.begin(), 0.0));
      }
      double paid = 0;
      for (std::size_t at = 0; at < costs.size(); ++at) paid += costs[at] * paces[at].rate;
      return cheapest / paid;
    };
    for (int run = 0; run < 30; ++run) {
      std::vector<MemberRate> paces(members);
      for (MemberRate& one : paces) one.rate = drawn(random);
      std::vector<double> slowest_alone(members);
      const auto slowest = std::ranges::min_element(paces, {}, &MemberRate::rate) - paces.begin();
      slowest_alone[static_cast<std::size_t>(slowest)] = 1;
      const double best =
          std::max(bound(std::vector<double>(members, 1), paces), bound(slowest_alone, paces));
      const double reached = least_seconds(1, paces);
      EXPECT_NEAR(reached, best, 1e-9 * best) << members << " members, run " << run;
      std::vector<double> costs(members);
      for (double& cost : costs) cost = drawn(random);
      EXPECT_LE(bound(costs, paces), reached * (1 + 1e-9));
    }
  }
}

}  // namespace
}  // namespace stretto::collective

// SPDX-License-Identifier: Apache-2.0
// A member that owns the fraction s of the parts carries n (1 + (P - 2) s) bytes each way: its own
// contribution to the owners and their values, and for its parts the contributions of all others
// and the values to them. In a round of T seconds it can own s = ((T - late) b / n - 1) / (P - 2).
// T is the least time in which all parts have an owner.
#include "collective/ownership_weights.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "common/check.h"

namespace stretto::collective {
namespace {

// The fraction that each member can own in a round of `seconds`, for three members or more.
std::vector<double> ownable(double bytes, const std::vector<MemberRate>& members, double seconds) {
  std::vector<double> shares;
  for (const MemberRate& one : members) {
    const double share =
        ((seconds - one.late) * one.rate / bytes - 1) / (static_cast<double>(members.size()) - 2);
    shares.push_back(std::clamp(share, 0.0, 1.0));
  }
  return shares;
}

double sum_of(const std::vector<double>& numbers) {
  return std::accumulate(numbers.begin(), numbers.end(), 0.0);
}

}  // namespace

double least_seconds(double bytes, const std::vector<MemberRate>& members) {
  STRETTO_CHECK(bytes > 0 && !members.empty());
  if (members.size() == 1) return members.front().late;
  double least = 0;  // Without owned parts.
  for (const MemberRate& one : members) {
    STRETTO_CHECK(one.rate > 0 && one.late >= 0);
    least = std::max(least, one.late + bytes / one.rate);
  }
  if (members.size() == 2 || sum_of(ownable(bytes, members, least)) >= 1) return least;
  // The sum grows with the time, until each member could own all parts.
  double most = least;
  while (sum_of(ownable(bytes, members, most)) < 1) most *= 2;
  constexpr int kHalvings = 60;
  for (int i = 0; i < kHalvings; ++i) {
    const double middle = (least + most) / 2;
    (sum_of(ownable(bytes, members, middle)) < 1 ? least : most) = middle;
  }
  return most;
}

std::vector<double> shares_of(double bytes, const std::vector<MemberRate>& members) {
  const double seconds = least_seconds(bytes, members);
  if (members.size() <= 2) {  // Both send all their bytes, whichever owns.
    return std::vector<double>(members.size(), 1 / static_cast<double>(members.size()));
  }
  std::vector<double> shares = ownable(bytes, members, seconds);
  const double sum = sum_of(shares);
  for (double& share : shares) share /= sum;
  return shares;
}

}  // namespace stretto::collective

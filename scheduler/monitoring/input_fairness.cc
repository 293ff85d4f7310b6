// SPDX-License-Identifier: Apache-2.0
// The rules of input_fairness.h, and their thresholds.
#include "scheduler/monitoring/input_fairness.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "common/clock.h"

namespace stretto {
namespace {

constexpr double kLeastIndex = 0.9;
constexpr double kGoodIndex = 0.97;
constexpr double kLeastScore = -3;
constexpr double kLeastDeviation = 0.03;  // Of shares: workers never get exactly equal shares.
constexpr double kLeastGap = 0.15;        // Below the median; a smaller gap starves no worker.
constexpr double kSmallGap = 0.05;
constexpr std::uint32_t kWindows = 3;
constexpr double kSlow = 2;         // Times the other workers' latency for each byte.
constexpr double kGreedy = 1.05;    // Times an equal part of all delivered bytes.
constexpr double kCrowding = 1.25;  // Times the starved worker's bytes in flight.
constexpr double kMostDemand = 2;   // Times the rate of the fastest worker.
constexpr std::uint32_t kQuietWindows = 5;
constexpr std::uint64_t kLeastLimit = 64 * 1024;

double median_of(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

// A program that only reads would take any amount: its demand shows its own speed, not the
// storage's. So demand is capped at twice the rate of the fastest worker.
double share_of(const InputDelivery& delivery, double most_rate) {
  const double most = kMostDemand * most_rate * seconds(delivery.length);
  const double demanded = std::min(static_cast<double>(delivery.demanded_bytes), most);
  if (delivery.demanded_bytes == 0) return 1;
  if (demanded <= 0) return 0;
  return std::min(1.0, static_cast<double>(delivery.delivered_bytes) / demanded);
}

bool waits(const InputDelivery& delivery) {
  return seconds(delivery.stall) >= kNoStall * seconds(delivery.length);
}

double latency_per_byte(const InputDelivery& delivery) {
  return seconds(delivery.mean_latency) /
         static_cast<double>(std::max<std::uint64_t>(delivery.read_bytes, 1));
}

// The reference for a worker's share: the median share. If a few workers starve all others, the
// median worker is starved itself; then it is the least share of the few.
struct Yardstick {
  double share = 1;
  std::set<Rank> few;  // Empty: `share` is the median.
};

// The few are far above the median and have more in flight than the median worker. Shares are
// unequal even without the workers far below the median. If the few are `known` to starve others,
// smaller gaps are enough.
Yardstick yardstick_of(const std::map<Rank, InputDelivery>& window,
                       const std::map<Rank, double>& shares, double middle, bool known) {
  const double gap = known ? kSmallGap : kLeastGap;
  std::vector<double> alike;
  std::vector<double> in_flight;
  for (const auto& [rank, share] : shares) {
    if (share >= middle - gap) alike.push_back(share);
    in_flight.push_back(static_cast<double>(window.at(rank).in_flight_bytes));
  }
  Yardstick yardstick{middle, {}};
  if (jain_index(alike) >= (known ? kGoodIndex : kLeastIndex)) return yardstick;
  const double crowding = kCrowding * median_of(in_flight);
  for (const auto& [rank, share] : shares) {
    const bool crowds = static_cast<double>(window.at(rank).in_flight_bytes) > crowding;
    if (share - middle <= gap || !crowds) continue;
    yardstick.share = yardstick.few.empty() ? share : std::min(yardstick.share, share);
    yardstick.few.insert(rank);
  }
  return yardstick;
}

// Workers that take more than an equal part. If workers wait for one another all take the same;
// then they are workers that never wait and have more in flight than the starved worker.
std::set<Rank> greedy_in(const std::map<Rank, InputDelivery>& window, Rank starved,
                         const std::set<Rank>& few) {
  if (!few.empty()) return few;
  double total = 0;
  for (const auto& [rank, delivery] : window) total += delivery.rate();
  const double fair = total / static_cast<double>(std::max<std::size_t>(window.size(), 1));
  std::set<Rank> greedy;
  for (const auto& [rank, delivery] : window) {
    if (delivery.rate() > kGreedy * fair) greedy.insert(rank);
  }
  if (!greedy.empty()) return greedy;
  const double own = kCrowding * static_cast<double>(window.at(starved).in_flight_bytes);
  for (const auto& [rank, delivery] : window) {
    const bool crowds = static_cast<double>(delivery.in_flight_bytes) > own;
    if (rank != starved && crowds && !waits(delivery)) greedy.insert(rank);
  }
  return greedy;
}

Starvation cause_of(const std::map<Rank, InputDelivery>& window, Rank starved,
                    const std::set<Rank>& few) {
  const InputDelivery& own = window.at(starved);
  if (!waits(own)) return Starvation::kLowDemand;
  std::vector<double> others;
  for (const auto& [rank, delivery] : window) {
    const bool counts = few.empty() ? rank != starved : few.count(rank) != 0;
    if (counts) others.push_back(latency_per_byte(delivery));
  }
  const double usual = median_of(others);
  if (usual > 0 && latency_per_byte(own) > kSlow * usual) return Starvation::kSlowDevice;
  return greedy_in(window, starved, few).empty() ? Starvation::kUnknown : Starvation::kStolenShare;
}

}  // namespace

double InputDelivery::rate() const {
  return static_cast<double>(delivered_bytes) / std::max(seconds(length), 1e-9);
}

std::string_view name_of(Starvation cause) {
  switch (cause) {
    case Starvation::kSlowDevice:
      return "slow device";
    case Starvation::kStolenShare:
      return "stolen share";
    case Starvation::kLowDemand:
      return "low demand";
    case Starvation::kUnknown:
      return "unknown";
  }
  return "unknown";
}

double jain_index(std::span<const double> shares) {
  double sum = 0;
  double squares = 0;
  for (const double share : shares) {
    sum += share;
    squares += share * share;
  }
  return squares > 0 ? sum * sum / (static_cast<double>(shares.size()) * squares) : 1;
}

std::vector<double> robust_scores(std::span<const double> values, double least_deviation) {
  const double middle = median_of({values.begin(), values.end()});
  std::vector<double> deviations;
  for (const double value : values) deviations.push_back(std::abs(value - middle));
  const double deviation = std::max(1.4826 * median_of(deviations), least_deviation);
  std::vector<double> scores;
  for (const double value : values) scores.push_back((value - middle) / deviation);
  return scores;
}

std::string InputFairness::Alarm::describe() const {
  return fmt::format(
      "worker {} gets {:.0f} % of the data that it asks for, the {} one {:.0f} %: {}", rank,
      100 * share, against_few ? "best" : "middle", 100 * usual, name_of(cause));
}

InputFairness::Judgement InputFairness::judge(const std::map<Rank, InputDelivery>& window,
                                              const std::set<Rank>& absent) {
  latest_ = {};
  std::erase_if(starved_windows_, [&](const auto& item) {
    return window.count(item.first) == 0 && absent.count(item.first) == 0;
  });
  double most_rate = 0;
  for (const auto& [rank, delivery] : window) most_rate = std::max(most_rate, delivery.rate());
  std::vector<double> shares;
  for (const auto& [rank, delivery] : window) {
    shares.push_back(share_of(delivery, most_rate));
    latest_.shares[rank] = shares.back();
  }
  if (window.size() < 2) {
    let_go(window);
    return latest_;
  }
  latest_.index = jain_index(shares);
  const std::vector<double> scores = robust_scores(shares, kLeastDeviation);
  const Yardstick middle{median_of(shares), {}};
  const Yardstick best = yardstick_of(window, latest_.shares, middle.share, held_down_);
  std::size_t at = 0;
  std::set<Rank> greedy;
  for (const auto& [rank, delivery] : window) {
    const double share = shares[at];
    const bool stands_out = scores[at++] < kLeastScore || latest_.index < kLeastIndex;
    std::uint32_t& windows = starved_windows_[rank];
    // An alarm lasts until the worker has nearly as much as the others.
    const double gap = windows >= kWindows ? kSmallGap : kLeastGap;
    const Yardstick& usual = middle.share - share > gap ? middle : best;
    const bool starved = usual.share - share > gap && (windows >= kWindows || stands_out);
    windows = starved ? windows + 1 : 0;
    if (windows < kWindows) continue;
    const Starvation cause = cause_of(window, rank, usual.few);
    if (limit_of(rank) != 0) {
      loosen(rank);
    } else if (cause == Starvation::kStolenShare) {
      greedy.merge(greedy_in(window, rank, usual.few));
    }
    latest_.alarms.push_back({rank, cause, share, usual.share, !usual.few.empty()});
  }
  held_down_ = std::ranges::any_of(latest_.alarms, [](const Alarm& alarm) {
    return alarm.against_few && alarm.cause == Starvation::kStolenShare;
  });
  for (const Alarm& alarm : latest_.alarms) greedy.erase(alarm.rank);
  hold_back(window, greedy);
  let_go(window);
  return latest_;
}

void InputFairness::hold_back(const std::map<Rank, InputDelivery>& window,
                              const std::set<Rank>& greedy) {
  for (const Rank rank : greedy) {
    Limit& limit = limits_[rank];
    const std::uint64_t used = window.at(rank).in_flight_bytes;
    if (limit.bytes == 0) {
      if (used == 0) continue;
      limit = {.bytes = used, .lifted_at = used};
    }
    limit.bytes = std::max(limit.bytes / 4 * 3, kLeastLimit);
    limit.quiet_windows = 0;
  }
}

// The limit of a starved worker is the cause of its starvation: throttling the others as well would
// go on until all workers read slowly.
void InputFairness::loosen(Rank rank) {
  Limit& limit = limits_.at(rank);
  limit.bytes += std::max<std::uint64_t>(limit.bytes / 3, 1);
  if (limit.bytes >= limit.lifted_at) limit.bytes = 0;
}

// Adds a read after five quiet windows, until the limit has no effect. Not while shares already
// drift apart: that would end only with another starved worker.
void InputFairness::let_go(const std::map<Rank, InputDelivery>& window) {
  for (auto& [rank, limit] : limits_) {
    const auto found = window.find(rank);
    if (limit.bytes == 0 || found == window.end()) continue;
    if (!latest_.alarms.empty()) limit.quiet_windows = 0;
    if (!latest_.alarms.empty() || latest_.index < kGoodIndex) continue;
    if (++limit.quiet_windows < kQuietWindows) continue;
    limit.quiet_windows = 0;
    limit.bytes += std::max<std::uint64_t>(found->second.read_bytes, 4096);
    if (limit.bytes >= limit.lifted_at) limit.bytes = 0;
  }
}

std::uint64_t InputFairness::limit_of(Rank rank) const {
  const auto found = limits_.find(rank);
  return found == limits_.end() ? 0 : found->second.bytes;
}

void InputFairness::forget(Rank rank) {
  starved_windows_.erase(rank);
  limits_.erase(rank);
}

}  // namespace stretto

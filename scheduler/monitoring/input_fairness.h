// SPDX-License-Identifier: Apache-2.0
// InputFairness: whether storage serves all workers equally: which workers are starved, for how
// long, and why, and how far workers above their share are throttled. Pure: it holds numbers and
// makes decisions and texts.
//
// A worker's share is its delivered bytes over its demanded bytes. Windows are judged by Jain's
// index of the shares (Jain, Chiu, Hawe 1984), (sum r)^2 / (n sum r^2), which is 1 if all are
// equal, and by robust z-scores, (r - median) / (1.4826 MAD). Limits follow AIMD: a quarter less at
// each window with an alarm, one step more after five nearly equal windows. A starved worker with a
// limit gets a third more at once, and the other workers keep theirs.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stretto/types.h"

namespace stretto {

/// A worker's report on its input in one window.
struct InputDelivery {
  std::uint64_t delivered_bytes = 0;
  std::uint64_t demanded_bytes = 0;   ///< Delivered, and what it could have taken while it waited.
  Duration stall{};                   ///< How long its consumer waited,
  Duration length{};                  ///< of this length.
  Duration mean_latency{};            ///< Of its requests.
  std::uint64_t in_flight_bytes = 0;  ///< Depth times read size.
  std::uint64_t read_bytes = 0;

  /// Delivered bytes a second.
  double rate() const;
};

/// A worker that waits for less than this part of the time is content.
inline constexpr double kNoStall = 0.01;

enum class Starvation : std::uint8_t {
  kSlowDevice,   ///< Its own requests take much longer than those of other workers.
  kStolenShare,  ///< Other workers get more than their share of a common device.
  kLowDemand,    ///< It asks for less; nothing is wrong.
  kUnknown
};

/// "slow device" and so on.
std::string_view name_of(Starvation cause);

/// 1 if all are equal, 1/n if a single one is not 0; 1 for an empty list.
double jain_index(std::span<const double> shares);
/// Distance of each value from the median in standard deviations, estimated by the median of the
/// absolute deviations; deviations count as at least `least_deviation`.
std::vector<double> robust_scores(std::span<const double> values, double least_deviation);

/// Thread: loop.
class InputFairness {
 public:
  struct Alarm {
    Rank rank = 0;
    Starvation cause = Starvation::kUnknown;
    double share = 0;  ///< Delivered over demanded;
    double usual = 0;  ///< the median of all, or, if a few workers starve all others, the least of
    bool against_few = false;  ///< these few.
    /// "worker 3 gets 31 % of the data that it asks for, the middle one 92 %: stolen share".
    std::string describe() const;
  };
  struct Judgement {
    double index = 1;
    std::map<Rank, double> shares;
    std::vector<Alarm> alarms;  ///< Workers that have been starved for three windows or more.
  };

  /// One window of all workers that read anything. `absent` workers have not reported: they keep
  /// their state.
  Judgement judge(const std::map<Rank, InputDelivery>& window, const std::set<Rank>& absent = {});
  /// Limit of a worker's bytes in flight; 0: no limit.
  std::uint64_t limit_of(Rank rank) const;
  /// The worker is gone.
  void forget(Rank rank);
  const Judgement& latest() const { return latest_; }

 private:
  struct Limit {
    std::uint64_t bytes = 0;  ///< 0: none.
    std::uint64_t lifted_at = 0;
    std::uint32_t quiet_windows = 0;
  };

  void hold_back(const std::map<Rank, InputDelivery>& window, const std::set<Rank>& greedy);
  void loosen(Rank rank);
  void let_go(const std::map<Rank, InputDelivery>& window);

  std::map<Rank, std::uint32_t> starved_windows_;  // In a row.
  bool held_down_ = false;                         // A few workers starve all others.
  std::map<Rank, Limit> limits_;
  Judgement latest_;
};

}  // namespace stretto

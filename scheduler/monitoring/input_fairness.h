// SPDX-License-Identifier: Apache-2.0
// InputFairness: whether storage delivers to all workers alike what they ask for; who is starved,
// for how long, and why; and by how much those who take more than their share are to be held back.
// Pure: it holds numbers and makes decisions and texts.
//
// A worker's share is what was delivered to it over what it asked for. Windows are judged by Jain's
// index of the shares (Jain, Chiu, Hawe 1984), (sum r)^2 / (n sum r^2), which is 1 if all are
// equal, and by robust z-scores, (r - median) / (1.4826 MAD). Limits follow AIMD: a quarter less at
// each window with an alarm, one step more after five in which all have nearly alike. Whoever is
// starved while it is itself held back gets a third more at once, and the others are left alone.
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

/// What a worker tells of its input in one window.
struct InputDelivery {
  std::uint64_t delivered_bytes = 0;
  std::uint64_t demanded_bytes = 0;  ///< Delivered, and what would have been taken while it waited.
  Duration stall{};                  ///< How long its consumer waited,
  Duration length{};                 ///< of so long.
  Duration mean_latency{};           ///< Of its requests.
  std::uint64_t in_flight_bytes = 0;  ///< Depth times read size.
  std::uint64_t read_bytes = 0;

  /// Bytes a second that were delivered.
  double rate() const;
};

/// A worker that waits for less than this share of the time is content.
inline constexpr double kNoStall = 0.01;

enum class Starvation : std::uint8_t {
  kSlowDevice,   ///< Its own requests take much longer than those of others.
  kStolenShare,  ///< Others get more than their share of a device that all use.
  kLowDemand,    ///< It asks for less; nothing is wrong.
  kUnknown
};

/// "slow device" and so on.
std::string_view name_of(Starvation cause);

/// 1 if all are equal, 1/n if one has all; 1 of nothing.
double jain_index(std::span<const double> shares);
/// How far each lies from the median, in standard deviations as the median of the absolute
/// deviations tells them; deviations count as at least `least_deviation`.
std::vector<double> robust_scores(std::span<const double> values, double least_deviation);

/// Thread: loop.
class InputFairness {
 public:
  struct Alarm {
    Rank rank = 0;
    Starvation cause = Starvation::kUnknown;
    double share = 0;  ///< Of what it asked for;
    double usual = 0;  ///< the middle one of all, or where few hold down all others the least of
    bool against_few = false;  ///< theirs.
    /// "worker 3 gets 31 % of the data that it asks for, the middle one 92 %: stolen share".
    std::string describe() const;
  };
  struct Judgement {
    double index = 1;
    std::map<Rank, double> shares;
    std::vector<Alarm> alarms;  ///< Whoever has been starved for three windows or more.
  };

  /// One window of all workers that read anything. Of those that are `absent` nothing is known:
  /// they stay what they were.
  Judgement judge(const std::map<Rank, InputDelivery>& window, const std::set<Rank>& absent = {});
  /// What a worker may have in flight, in bytes; 0: no limit.
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
  bool held_down_ = false;                         // A few hold down others, as was last judged.
  std::map<Rank, Limit> limits_;
  Judgement latest_;
};

}  // namespace stretto

// SPDX-License-Identifier: Apache-2.0
// PushWaits: rounds that have waited long, and for whose pushes, as the servers' heartbeats tell:
// so that a job that stands still says at once what is missing. Why it is missing they do not know.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "van/control.h"

namespace stretto {

/// Thread: loop.
class PushWaits {
 public:
  /// Shorter waits are told to nobody: steps of unlike length have some. Nor are those of less than
  /// twice what waits of this job take: the middle one of the last five that ended at that shard.
  static constexpr Duration kStandstill = 3s;
  static constexpr std::size_t kRemembered = 5;

  /// Of a shard's heartbeat: what it says replaces what it said before.
  void heard(NodeId shard, const control::Heartbeat& beat, Time now);
  void left(NodeId shard) { by_shard_.erase(shard); }

  struct Summary {
    Duration age{};           ///< Of the longest wait.
    std::vector<Rank> ranks;  ///< Who is waited for; not all, if there are many.
    std::string text;         ///< "worker 1 has not pushed 'a' and 3 more, round 7".
  };
  /// Nothing if no round has waited unusually long.
  std::optional<Summary> summary(Time now) const;

 private:
  struct Wait {
    std::string tensor;
    std::uint64_t round = 0;
    Time since;
    std::vector<Rank> ranks;
    std::uint32_t workers = 0;
  };
  struct Waits {
    std::vector<Wait> waits;
    std::uint32_t tensors = 0;
    std::array<Duration, kRemembered> ended{};  ///< The longest of each of the last rounds, as a
    std::size_t next = 0;                       ///< ring; zero for those that have not been.

    const Wait* longest() const;
    bool has(const Wait& wait) const;
    Duration unusual() const;
  };
  std::map<NodeId, Waits> by_shard_;
};

}  // namespace stretto

// SPDX-License-Identifier: Apache-2.0
// Snapshot: the members of the job and the state of each by its heartbeats, for stretto-top, the
// live page and metrics. Pure: it holds numbers and makes texts.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "observe/user_metrics.h"
#include "scheduler/monitoring/input_view.h"
#include "scheduler/monitoring/stall_diagnosis.h"
#include "van/control/control.h"

namespace stretto {

/// Thread: loop.
class Snapshot {
 public:
  void set_members(const std::vector<Member>& members);
  void heard(NodeId node, const control::Heartbeat& beat, Time now);
  void left(NodeId node, bool lost);
  /// For the workers that read something.
  void set_input(const std::map<Rank, InputView>& views);

  struct NodeState {
    Member member;
    std::uint64_t heartbeats = 0;
    std::uint64_t rounds = 0;
    /// For a worker that joined later: the progress of the fastest worker beyond its own by then.
    std::optional<std::uint64_t> missed = {};
    /// Rounds since the start of the job, as if it had always been a member.
    std::uint64_t progress() const { return rounds + missed.value_or(0); }
    std::uint64_t staleness = 0;
    std::uint64_t bytes_in = 0;
    std::uint64_t bytes_out = 0;
    std::uint64_t frames_waiting = 0;
    std::uint64_t bytes_in_flight = 0;
    double in_per_s = 0;  ///< Bytes, over the last seconds.
    double out_per_s = 0;
    double rounds_per_s = 0;
    double held_share = 0;  ///< Of a worker: the part of the time in which rounds waited for it.
    Duration held = {};     ///< In all, over all shards.
    std::optional<InputView> input = {};
    UserMetricValues reports = {};             ///< Of a worker: its program's metrics.
    std::vector<control::Chosen> chosen = {};  ///< Of a worker: its selected strategies.
    Time heard;
    // At the start of the window of the rates.
    Time window;
    std::uint64_t in_before = 0;
    std::uint64_t out_before = 0;
    std::uint64_t rounds_before = 0;
    Duration held_before = {};
  };
  const std::map<NodeId, NodeState>& nodes() const { return nodes_; }
  /// The straggler that stalls the job; nothing while the job makes progress.
  void set_standstill(const std::optional<StallDiagnosis>& verdict) { standstill_ = verdict; }
  const std::optional<StallDiagnosis>& standstill() const { return standstill_; }

  /// {"phase":...,"count":N,"stall":{...} or null,"exchange":[{"plan":...,"tensors":N,"bytes":N,
  /// "why":...}],"nodes":[...]}, 500 nodes from `first` on, workers first by rank.
  std::string json(std::string_view phase, std::size_t first, Time now) const;

 private:
  std::uint64_t most_progress() const;
  void roll_window(NodeState& node, Time now) const;
  void note_held(NodeId shard, const control::Held& held);
  Duration held_of(Rank rank) const;

  std::map<NodeId, NodeState> nodes_;
  std::map<Rank, std::map<NodeId, Duration>> held_;  // By worker and shard,
  std::size_t held_count_ = 0;                       // Number of pairs in `held_`.
  std::optional<StallDiagnosis> standstill_;
};

}  // namespace stretto

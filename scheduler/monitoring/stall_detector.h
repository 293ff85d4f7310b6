// SPDX-License-Identifier: Apache-2.0
// StallDetector: records from heartbeats which members wait for which, and reports the straggler
// and its cause while the job is stalled.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "scheduler/monitoring/stall_diagnosis.h"

namespace stretto {

/// The usual wait of a round, from the shards' reports of long waits. Thread: loop.
class TypicalWait {
 public:
  /// No shorter wait is a stall,
  static constexpr Duration kFloor = 2s;
  /// none below this multiple of the usual wait,
  static constexpr int kTimesUsual = 5;
  /// and below this number of rounds none that is shorter than kFloorAtFirst.
  static constexpr std::uint64_t kFewRounds = 5;
  static constexpr Duration kFloorAtFirst = 10s;
  static constexpr std::uint64_t kRemembered = 50;  ///< Rounds.

  /// A shard has done `rounds` rounds. `ended`: waits that have ended since, except those during a
  /// program's pause.
  void heard(NodeId shard, std::uint64_t rounds, const std::vector<control::EndedWait>& ended);
  void left(NodeId shard) { shards_.erase(shard); }
  /// A longer wait is a stall.
  Duration limit() const;

 private:
  struct Shard {
    std::uint64_t rounds = 0;
    std::map<std::uint64_t, Duration> longest;  // By round.
  };
  std::map<NodeId, Shard> shards_;
};

/// Thread: loop.
class StallDetector {
 public:
  explicit StallDetector(Duration heartbeat);

  void heard(const Member& member, const control::Heartbeat& beat, Time now);
  void left(NodeId node);
  struct Word {
    bool alarming = false;
    std::string text;
  };
  /// Diagnoses again periodically. Returns each message for the log once.
  std::optional<Word> look(Time now);
  /// The diagnosis while the job is stalled.
  const std::optional<StallDiagnosis>& verdict() const { return verdict_; }
  Duration limit() const { return usual_.limit(); }
  /// The reason of a pause by another worker than this node; empty: none pauses.
  std::string pause_of_others(NodeId node) const;

 private:
  struct Sample {  // Of a worker, for its rates.
    Time at;
    Duration cpu{};
    std::uint64_t page_reads = 0;
    Duration stall{};
    std::uint64_t bytes = 0;
  };

  void note_life(Time now);
  void keep_rates(JobActivity::Row& row, const control::Heartbeat& beat, Time now);
  void keep_waits(NodeId shard, const control::Heartbeat& beat, Time now);
  bool paused_since(Time then) const;
  std::optional<Word> settle();

  Duration most_apart_;  // Longest gap between signs of life without a stall of all.
  JobActivity table_;
  std::map<NodeId, Sample> samples_;
  struct Pause {
    std::string what;
    bool waits = false;  // The worker also waits in a call, perhaps for another pause.
  };
  std::map<NodeId, Pause> pauses_;
  TypicalWait usual_;
  Time next_look_;
  std::optional<StallDiagnosis> suspected_;  // The last diagnosis,
  Time suspected_since_;                     // unchanged since then.
  std::optional<StallDiagnosis> verdict_;    // The reported diagnosis.
};

}  // namespace stretto

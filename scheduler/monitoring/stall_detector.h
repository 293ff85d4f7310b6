// SPDX-License-Identifier: Apache-2.0
// StallDetector: keeps what heartbeats tell of who waits for whom, and says, for as long as the
// job stands still, who holds it up and by what.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "scheduler/monitoring/stall_diagnosis.h"

namespace stretto {

/// How long rounds usually wait: as shards tell of those that waited long. Thread: loop.
class TypicalWait {
 public:
  /// No wait that is shorter is a standstill,
  static constexpr Duration kFloor = 2s;
  /// none of less than so many times what is usual,
  static constexpr int kTimesUsual = 5;
  /// and while fewer rounds than this are done, none that is shorter than this.
  static constexpr std::uint64_t kFewRounds = 5;
  static constexpr Duration kFloorAtFirst = 10s;
  static constexpr std::uint64_t kRemembered = 50;  ///< Rounds.

  /// A shard has done so many rounds; waits that ended since, but for those that somebody paused
  /// in.
  void heard(NodeId shard, std::uint64_t rounds, const std::vector<control::EndedWait>& ended);
  void left(NodeId shard) { shards_.erase(shard); }
  /// A wait that is longer is a standstill.
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
  /// Judges anew now and then. What people should know, once.
  std::optional<Word> look(Time now);
  /// While the job stands still.
  const std::optional<StallDiagnosis>& verdict() const { return verdict_; }
  Duration limit() const { return usual_.limit(); }
  /// What another worker than this node pauses for; empty: none pauses.
  std::string pause_of_others(NodeId node) const;

 private:
  struct Sample {  // Of a worker, from which rates are taken.
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

  Duration most_apart_;  // Signs of life, if not all stand still.
  JobActivity table_;
  std::map<NodeId, Sample> samples_;
  struct Pause {
    std::string what;
    bool waits = false;  // The worker waits in a call meanwhile, perhaps for another pause.
  };
  std::map<NodeId, Pause> pauses_;
  TypicalWait usual_;
  Time next_look_;
  std::optional<StallDiagnosis> suspected_;  // The last judgement,
  Time suspected_since_;                     // which has been the same since then.
  std::optional<StallDiagnosis> verdict_;    // What has been said.
};

}  // namespace stretto

// SPDX-License-Identifier: Apache-2.0
// Plan: everything that a seed determines before a simulated job starts: its size, network and
// tensors, the workers' operations, and the faults.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tests/sim/sim_network.h"
#include "van/control/control.h"

namespace stretto::sim {

enum class Fault {
  kNone,
  kCrash,       ///< A node is lost; its links break.
  kSilence,     ///< A node falls silent; no peer is notified.
  kCut,         ///< One link breaks or falls silent; both ends live on.
  kLoss,        ///< One frame is lost, as by a transport that reconnects silently.
  kPause,       ///< A node is paused for less than the dead time: harmless.
  kHostile,     ///< Pending connections, and repeated or invented frames: harmless.
  kMissing,     ///< A node never joins.
  kMismatch,    ///< A worker declares a tensor differently.
  kOverBudget,  ///< The tensors exceed a server's memory limit.
};
inline constexpr int kFaults = 10;
std::string_view name_of(Fault fault);

/// One step of a tensor, the same on every worker: a round, or a broadcast.
struct Step {
  bool broadcast = false;
  Rank root = 0;
};

/// The fault of a link that is cut.
enum class LinkCut : std::uint8_t {
  kReset,      ///< Both ends are notified. Harmless if the job has begun and lasts.
  kSilent,     ///< No frame passes any more,
  kOneWay,     ///< or none in one direction;
  kBlackHole,  ///< or no large one in one direction. No peer is notified.
  kMended,     ///< A reset of a worker's busy link: harmless.
  kDip,        ///< Silent, in one direction or both, for a pause: harmless.
  kFlip,       ///< A bit flips in one frame, which has a checksum: harmless.
};

/// One fault of a plan's timeline.
struct Strike {
  Fault fault = Fault::kNone;
  Duration after = 0ns;  ///< From the start; kMissing, kMismatch, kOverBudget are there from it.
  Duration pause = 0ns;
  LinkCut cut = LinkCut::kReset;
};

/// A status client that observes the job for a while.
struct Visit {
  Duration after = 0ns;
  std::uint32_t questions = 0;
  Duration pause = 0ns;   ///< Between questions.
  bool vanishes = false;  ///< The client disconnects before its last answer.
};

struct TensorPlan {
  TensorSpec spec;
  std::vector<Step> steps;
  /// Bits by rank: workers that pull before their first contribution, and soon cancel the pull.
  std::uint64_t hasty = 0;
  /// Bits by rank: workers that are paused in the first `uneven` rounds.
  std::uint64_t idle = 0;
  std::uint64_t uneven = 0;
  bool takes_part(Rank rank, std::uint64_t round) const {
    return round > uneven || (idle >> rank & 1) == 0;
  }
};

struct Plan {
  std::uint64_t seed = 0;
  std::uint32_t workers = 1;
  std::uint32_t servers = 1;
  std::uint32_t shards = 1;
  NetworkOptions network;
  JobSettings settings;
  std::uint64_t memory_limit_bytes = 0;
  std::vector<TensorPlan> tensors;
  /// The tensor of each step, in the order in which every worker begins them. With a limit on
  /// operations in flight, workers with different orders could wait for each other.
  std::vector<std::size_t> order;
  /// Steps at the start of `order` before all workers pause; 0: no worker pauses.
  std::size_t uneven_steps = 0;
  std::uint32_t barriers = 0;
  Rank slow = 0;                         ///< The worker that begins late; `workers`: none.
  std::size_t most_in_flight = 4;        ///< Limit on a worker's operations in flight.
  std::vector<Strike> timeline;          ///< Faults, ordered by time.
  std::map<std::string, Duration> late;  ///< Nodes that start late, and their delays.
  std::vector<Visit> visits;

  explicit Plan(std::uint64_t seed);
  /// The nodes' names: "scheduler", "worker 1", "server 0", "server 0 shard 1".
  std::vector<std::string> nodes() const;
  bool has(Fault fault) const;
  /// True if the only faults are cuts after which links reconnect.
  bool mends() const;
  std::string describe() const;
};

/// Element `i` of the contribution of worker `rank` to its `round` (from 1) of the tensor.
std::int64_t share_of(const TensorPlan& tensor, Rank rank, std::uint64_t round, std::uint64_t i);
/// In modes without rounds, the last broadcast resets the value: it lacks the other workers'
/// contributions up to `round`, and those of `root` before `round`.
struct Base {
  std::uint64_t round = 0;    ///< 0: no broadcast yet.
  std::uint64_t version = 0;  ///< Of the replaced value.
  Rank root = 0;

  /// The rounds of a worker of which the value holds `shares` contributions.
  std::uint64_t rounds(Rank rank, std::uint64_t shares) const {
    return shares + round - (round > 0 && rank == root ? 1 : 0);
  }
};
/// The base of a value for a worker that has begun `round` rounds: all workers have reached its
/// last broadcast, and none has passed its next one.
Base base_of(const TensorPlan& tensor, std::uint32_t workers, std::uint64_t round);
/// Element `i` of a sync or eager tensor's value after `round` rounds, by the rule's definition.
double value_after(const TensorPlan& tensor, std::uint32_t workers, std::uint64_t round,
                   std::uint64_t i);
/// In modes without rounds: the sum of contributions in `value`, for a worker that has begun
/// `round` rounds. Undoes the sign of a rule that subtracts.
double counted_up(const TensorPlan& tensor, std::uint32_t workers, std::uint64_t round,
                  double value);
/// Write and read element `i` of a tensor's memory.
void store(Dtype dtype, std::byte* memory, std::uint64_t i, double value);
double load(Dtype dtype, const std::byte* memory, std::uint64_t i);

}  // namespace stretto::sim

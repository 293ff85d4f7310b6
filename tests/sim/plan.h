// SPDX-License-Identifier: Apache-2.0
// Plan: everything that a seed decides before a simulated job begins: its size, its network, its
// tensors, what every worker does to them, and what goes wrong.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tests/sim/sim_network.h"
#include "van/control/control.h"

namespace stretto::sim {

enum class Fault {
  kNone,
  kCrash,       ///< A node is gone; its links break.
  kSilence,     ///< A node falls silent; nobody is told.
  kCut,         ///< One link breaks, or falls silent; both its ends live on.
  kLoss,        ///< One frame is lost, as by a transport that reconnects silently.
  kPause,       ///< A node stands still for less than the dead time: no harm.
  kHostile,     ///< Strangers and repeated, invented frames: no harm.
  kMissing,     ///< A node never comes.
  kMismatch,    ///< A worker declares a tensor otherwise.
  kOverBudget,  ///< A server may not hold all that is declared.
};
inline constexpr int kFaults = 10;
std::string_view name_of(Fault fault);

/// One step of a tensor's life, the same on every worker: a round, or a broadcast.
struct Step {
  bool broadcast = false;
  Rank root = 0;
};

/// What befalls a link that is cut.
enum class LinkCut : std::uint8_t {
  kReset,      ///< Both ends are told. No harm once the job has begun, as long as it lasts.
  kSilent,     ///< Nothing comes through any more,
  kOneWay,     ///< or nothing in one direction;
  kBlackHole,  ///< or nothing large in one direction. Nobody is told.
  kMended,     ///< As a reset, of a worker's link that is busy: no harm.
  kDip,        ///< Silent, in one direction or both, for a pause: no harm.
  kFlip,       ///< A bit flips in one frame, which has a checksum: no harm.
};

/// One fault of a plan's timeline.
struct Strike {
  Fault fault = Fault::kNone;
  Duration after = 0ns;  ///< From the start. Missing, mismatch and over budget are there from it.
  Duration pause = 0ns;
  LinkCut cut = LinkCut::kReset;
};

/// A tool that looks at the job for a while.
struct Visit {
  Duration after = 0ns;
  std::uint32_t questions = 0;
  Duration pause = 0ns;   ///< Between them.
  bool vanishes = false;  ///< It ends without waiting for the last answer.
};

struct TensorPlan {
  TensorSpec spec;
  std::vector<Step> steps;
  /// Bits by rank: who pulls before its first share, and gives that up soon.
  std::uint64_t hasty = 0;
  /// Bits by rank: who sits out the first `uneven` rounds.
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
  /// The tensor of each step, in the order in which every worker begins them: with a limit on what
  /// is in flight, workers that began in different orders could wait for each other.
  std::vector<std::size_t> order;
  /// So many of them come before all have sat out; 0: nobody sits out.
  std::size_t uneven_steps = 0;
  std::uint32_t barriers = 0;
  Rank slow = 0;                         ///< The worker that begins things later; `workers`: none.
  std::size_t most_in_flight = 4;        ///< Operations that a worker has in flight, at most.
  std::vector<Strike> timeline;          ///< What goes wrong, in the order in which it happens.
  std::map<std::string, Duration> late;  ///< Nodes that start so much later than the others.
  std::vector<Visit> visits;

  explicit Plan(std::uint64_t seed);
  /// The nodes' names: "scheduler", "worker 1", "server 0", "server 0 shard 1".
  std::vector<std::string> nodes() const;
  bool has(Fault fault) const;
  /// Only links are cut, and all of them are made anew.
  bool mends() const;
  std::string describe() const;
};

/// Element `i` of what worker `rank` contributes in its `round` (from 1) to the tensor.
std::int64_t share_of(const TensorPlan& tensor, Rank rank, std::uint64_t round, std::uint64_t i);
/// Where shares apply as they come, the last broadcast set what a value counts from: the shares of
/// workers other than `root` up to `round`, and of the root but for that one, are not in it.
struct Base {
  std::uint64_t round = 0;    ///< 0: there was none.
  std::uint64_t version = 0;  ///< Of what it replaced.
  Rank root = 0;

  /// Rounds of a worker of which the value holds `shares`.
  std::uint64_t rounds(Rank rank, std::uint64_t shares) const {
    return shares + round - (round > 0 && rank == root ? 1 : 0);
  }
};
/// What the value counts from of a worker that has begun `round` rounds: all have come to its last
/// broadcast, and none beyond its next one.
Base base_of(const TensorPlan& tensor, std::uint32_t workers, std::uint64_t round);
/// Element `i` of a sync or eager tensor's value after `round` rounds, by the plain definition of
/// its rule.
double value_after(const TensorPlan& tensor, std::uint32_t workers, std::uint64_t round,
                   std::uint64_t i);
/// A value to which shares are added, from one that a worker has got that has begun `round` rounds
/// of a tensor where shares apply as they come: a rule may take them away instead.
double counted_up(const TensorPlan& tensor, std::uint32_t workers, std::uint64_t round,
                  double value);
/// Numbers to and from a tensor's memory.
void store(Dtype dtype, std::byte* memory, std::uint64_t i, double value);
double load(Dtype dtype, const std::byte* memory, std::uint64_t i);

}  // namespace stretto::sim

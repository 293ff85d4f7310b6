// SPDX-License-Identifier: Apache-2.0
// History: calls and answers of the workers of an elastic job, and the faults that struck them,
// recorded while the job ran. HistoryChecker judges it; History does not know how values are
// chosen.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/tensor_spec.h"

namespace stretto::sim {

/// The workers' actions. Times are the simulation's; Time::max(): has not happened.
struct History {
  /// How a call, a process or the job ended.
  struct End {
    Time at = Time::max();
    bool ok = false;
    std::string peer = {};   ///< The peer that an error blames,
    std::string cause = {};  ///< and the error's text.
  };
  /// An operation on a tensor.
  struct Call {
    std::uint32_t worker = 0;
    std::size_t tensor = 0;
    std::uint64_t round = 0;  ///< The program's: of this push, or of the push before.
    Time begun;
    bool pushes = false;
    bool pulls = false;
    bool last = false;  ///< Begun after the barrier that follows all rounds.
    std::vector<std::int64_t> sent = {};
    std::vector<std::int64_t> got = {};
    std::uint32_t contributors = 0;  ///< As reported to the worker.
    End end = {};
  };
  struct Barrier {
    std::uint32_t worker = 0;
    std::uint64_t number = 0;
    Time begun;
    End end = {};
  };
  /// The rank that a worker was told to have.
  struct Place {
    std::uint32_t worker = 0;
    std::uint32_t epoch = 0;
    std::uint32_t rank = 0;
    std::vector<std::uint32_t> numbers = {};  ///< Worker numbers by rank.
  };
  /// A worker joined before this many rounds, in turns over all tensors.
  struct Arrival {
    Time at;
    std::uint64_t turns = 0;
  };
  /// A fault that costs time, with its maximum cost.
  struct Disturbance {
    Time at;
    Duration costs{};
  };
  /// The maxima that a shard kept for one part.
  struct Kept {
    std::size_t senders = 0;  ///< Senders whose last push is recorded.
    std::size_t waiting = 0;  ///< Workers that asked for the value.
  };

  // The job.
  std::vector<TensorSpec> tensors = {};
  std::uint32_t workers = 0;  ///< Initial workers; later workers have higher numbers.
  std::uint32_t min_workers = 0;
  std::uint32_t part_elements = 1;
  std::uint64_t barrier_every = 1;  ///< Rounds, in turns over all tensors.
  Duration call_limit{};            ///< A call's own deadline.

  // Faults, by worker.
  std::map<std::uint32_t, Time> lost = {};
  std::map<std::uint32_t, Time> left = {};  ///< In order, before the other workers.
  std::set<std::uint32_t> asleep = {};      ///< Lost workers that wake up,
  std::set<std::uint32_t> done = {};        ///< and lost workers that had finished by then.
  std::map<std::uint32_t, Arrival> came = {};
  std::set<std::uint32_t> unheard = {};  ///< Workers once cut off from the scheduler.
  std::vector<Disturbance> disturbances = {};

  // The workers' calls, in the order in which they began.
  std::vector<Call> calls = {};
  std::vector<Barrier> barriers = {};
  std::vector<Place> places = {};
  std::map<std::uint32_t, End> ends = {};  ///< Of processes that lived to see it.
  End job = {};                            ///< As the scheduler saw it.
  std::set<std::uint32_t> going = {};      ///< Workers still running after all events ended.

  // The servers' state.
  std::map<std::uint32_t, std::set<std::string>> owners = {};  ///< By slot.
  std::map<std::string, Kept> kept = {};                       ///< By shard.
};

}  // namespace stretto::sim

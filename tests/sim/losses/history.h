// SPDX-License-Identifier: Apache-2.0
// History: what the workers of an elastic job asked for and were answered, and what befell them, as
// it was written down while the job ran. It judges nothing, and knows nothing of how numbers are
// chosen; HistoryChecker does.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/tensor_spec.h"

namespace stretto::sim {

/// What a worker did: times are the simulation's, Time::max() where it has not happened.
struct History {
  /// How something ended.
  struct End {
    Time at = Time::max();
    bool ok = false;
    std::string peer = {};   ///< Of an error: whom it blames,
    std::string cause = {};  ///< and in words.
  };
  /// An operation of a tensor.
  struct Call {
    std::uint32_t worker = 0;
    std::size_t tensor = 0;
    std::uint64_t round = 0;  ///< The program's: of its own push, or of that before.
    Time begun;
    bool pushes = false;
    bool pulls = false;
    bool last = false;  ///< It begins after the barrier that all rounds come before.
    std::vector<std::int64_t> sent = {};
    std::vector<std::int64_t> got = {};
    std::uint32_t contributors = 0;  ///< As it was told.
    End end = {};
  };
  struct Barrier {
    std::uint32_t worker = 0;
    std::uint64_t number = 0;
    Time begun;
    End end = {};
  };
  /// Where a worker was told that it stands.
  struct Place {
    std::uint32_t worker = 0;
    std::uint32_t epoch = 0;
    std::uint32_t rank = 0;
    std::vector<std::uint32_t> numbers = {};  ///< By rank.
  };
  /// Somebody came in, before so many rounds by turns of all tensors.
  struct Arrival {
    Time at;
    std::uint64_t turns = 0;
  };
  /// Something that costs time, and how much at most.
  struct Disturbance {
    Time at;
    Duration costs{};
  };
  /// The most that a shard kept for one part at any time.
  struct Kept {
    std::size_t senders = 0;  ///< Whose last push it knows.
    std::size_t waiting = 0;  ///< Who asked for its value.
  };

  // The job.
  std::vector<TensorSpec> tensors = {};
  std::uint32_t workers = 0;  ///< At its beginning; those who came later have higher numbers.
  std::uint32_t min_workers = 0;
  std::uint32_t part_elements = 1;
  std::uint64_t barrier_every = 1;  ///< So many rounds by turns.
  Duration call_limit{};            ///< A call's own deadline.

  // What befell whom, by worker.
  std::map<std::uint32_t, Time> lost = {};
  std::map<std::uint32_t, Time> left = {};  ///< In order, before the others.
  std::set<std::uint32_t> asleep = {};      ///< Of those who are lost: they wake up,
  std::set<std::uint32_t> done = {};        ///< and of these all was done when it befell them.
  std::map<std::uint32_t, Arrival> came = {};
  std::set<std::uint32_t> unheard = {};  ///< Between them and the scheduler all was silent once.
  std::vector<Disturbance> disturbances = {};

  // What they did, in the order in which it began.
  std::vector<Call> calls = {};
  std::vector<Barrier> barriers = {};
  std::vector<Place> places = {};
  std::map<std::uint32_t, End> ends = {};  ///< Of processes that lived to see it.
  End job = {};                            ///< As the scheduler saw it.
  std::set<std::uint32_t> going = {};      ///< Who goes on though nothing happens any more.

  // What servers kept.
  std::map<std::uint32_t, std::set<std::string>> owners = {};  ///< By slot.
  std::map<std::string, Kept> kept = {};                       ///< By shard.
};

}  // namespace stretto::sim

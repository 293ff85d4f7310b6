// SPDX-License-Identifier: Apache-2.0
// AmongPlan: what a seed decides of a job whose workers exchange among themselves: groups, tensors,
// what all do with them in which order, and what goes wrong.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/group_call.h"
#include "core/tensor_spec.h"
#include "tests/sim/random.h"
#include "tests/sim/sim_network.h"

namespace stretto::sim {

/// Who do things together: a group, or a tensor's workers, which are all.
struct Circle {
  std::vector<Rank> ranks;
  TensorSpec spec;  ///< A group's has no elements.
  bool is_group = true;

  /// Its rounds may end before all have contributed.
  bool closes() const { return !spec.options.close.waits_for_all(); }
  /// Its number; their count for who is none of them.
  std::uint32_t place_of(Rank rank) const;
  std::uint32_t size() const { return static_cast<std::uint32_t>(ranks.size()); }
};

/// One thing that they do.
struct AmongItem {
  bool founds = false;     ///< They make the group, or declare the tensor; else they call.
  std::size_t circle = 0;  ///< Of the plan's.
  GroupCall call = {};     ///< Of a tensor: push_pull is an all_reduce.
  std::uint32_t peer = 0;  ///< Of a send: who receives.
  std::uint64_t tag = 0;
  bool unlike = false;  ///< Of all_to_all: each pair has a size of its own.

  bool sends() const { return !founds && call.kind == CallKind::kSend; }
  /// The number in its circle takes part.
  bool concerns(std::uint32_t place) const {
    return !sends() || place == call.root || place == peer;
  }
};

/// What goes wrong. The first four end the job for some.
enum class AmongFault : std::uint8_t {
  kCrash,    ///< A worker's, a server's or the scheduler's links break.
  kSilence,  ///< One falls silent.
  kSleep,    ///< A worker stands still for longer than others wait.
  kReset,    ///< A link is reset: no harm.
  kFlip,     ///< A bit flips on one: no harm.
  kDip       ///< One falls silent for less than the dead time: no harm.
};
std::string_view name_of(AmongFault fault);
inline bool is_loss(AmongFault fault) { return fault <= AmongFault::kSleep; }

struct AmongPlan {
  explicit AmongPlan(std::uint64_t seed);

  struct Strike {
    AmongFault fault = AmongFault::kCrash;
    std::size_t begun = 0;  ///< Once workers have begun so much, of all that each does,
    Duration after = {};    ///< and so much later.
    Duration pause = {};    ///< Of a dip.
    bool at_anybody = false;
  };
  /// One member calls something else than all others.
  struct Odd {
    std::size_t item = 0;
    Rank rank = 0;
    AmongItem instead = {};
  };
  /// A worker leaves before this item.
  struct Leave {
    Rank rank = 0;
    std::size_t before = 0;
  };

  std::uint64_t seed;
  std::uint32_t workers = 2;
  std::uint32_t servers = 0;
  std::uint32_t machines = 1;  ///< That workers say they are on, in turn.
  JobSettings settings = {};
  NetworkOptions network = {};
  std::size_t most_in_flight = 2;
  bool pauses = false;  ///< Callers pause what is in flight, for a while.
  std::vector<Circle> circles = {};
  std::vector<AmongItem> items = {};  ///< Each worker begins those that concern it in this order.
  std::vector<Strike> strikes = {};
  std::optional<Odd> odd = {};
  std::optional<Leave> leave = {};

  bool concerns(std::size_t item, Rank rank) const;
  /// What this worker calls there: the item, or something else.
  const AmongItem& item_of(std::size_t item, Rank rank) const;
  /// What is begun by all workers together.
  std::size_t begun_by_all() const;
  bool loses() const;
  /// Nothing at all goes wrong.
  bool is_calm() const { return strikes.empty() && !odd && !leave; }
  std::string describe() const;
};

/// What a call of this member looks like in memory, in elements. Of all_to_all `give` and `take`
/// have a size for each member.
struct AmongSizes {
  std::uint64_t source = 0;
  std::uint64_t target = 0;
  std::vector<std::uint64_t> give = {};
  std::vector<std::uint64_t> take = {};
};
AmongSizes sizes_of(const AmongItem& item, const Circle& circle, std::uint32_t place);

}  // namespace stretto::sim

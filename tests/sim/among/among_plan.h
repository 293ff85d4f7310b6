// SPDX-License-Identifier: Apache-2.0
// AmongPlan: the plan that a seed determines for a job whose workers exchange directly: groups,
// tensors, the calls in their order, and the faults.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/group_call.h"
#include "core/tensor_spec.h"
#include "tests/sim/random.h"
#include "tests/sim/sim_network.h"

namespace stretto::sim {

/// The members of a group, or all workers for a tensor.
struct Circle {
  std::vector<Rank> ranks;
  TensorSpec spec;  ///< A group's spec has no elements.
  bool is_group = true;

  /// Rounds may close before all members have contributed.
  bool closes() const { return !spec.options.close.waits_for_all(); }
  /// The member's index in the circle; size() for a rank outside it.
  std::uint32_t place_of(Rank rank) const;
  std::uint32_t size() const { return static_cast<std::uint32_t>(ranks.size()); }
};

/// One operation of a circle.
struct AmongItem {
  bool founds = false;     ///< True: makes the group or declares the tensor; false: a call.
  std::size_t circle = 0;  ///< Index into AmongPlan::circles.
  GroupCall call = {};     ///< A tensor's push_pull is an all_reduce.
  std::uint32_t peer = 0;  ///< Receiver of a send.
  std::uint64_t tag = 0;
  bool unlike = false;  ///< For all_to_all: each pair has its own size.

  bool sends() const { return !founds && call.kind == CallKind::kSend; }
  /// True if the member with this index takes part.
  bool concerns(std::uint32_t place) const {
    return !sends() || place == call.root || place == peer;
  }
};

/// Faults. The first three can end the job for some members.
enum class AmongFault : std::uint8_t {
  kCrash,    ///< The links of a worker, server or scheduler break.
  kSilence,  ///< A process falls silent.
  kSleep,    ///< A worker is suspended for longer than the fault deadline.
  kReset,    ///< A link is reset: harmless.
  kFlip,     ///< A bit flips in a frame: harmless.
  kDip       ///< A link is silent for less than the dead time: harmless.
};
std::string_view name_of(AmongFault fault);
inline bool is_loss(AmongFault fault) { return fault <= AmongFault::kSleep; }

struct AmongPlan {
  explicit AmongPlan(std::uint64_t seed);

  struct Strike {
    AmongFault fault = AmongFault::kCrash;
    std::size_t begun = 0;  ///< Strikes after this many begun operations of all workers,
    Duration after = {};    ///< plus this delay.
    Duration pause = {};    ///< Length of a dip.
    bool at_anybody = false;
  };
  /// One member makes a different call than all other members.
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
  std::uint32_t machines = 1;  ///< Distinct machine ids that the workers report, round-robin.
  JobSettings settings = {};
  NetworkOptions network = {};
  std::size_t most_in_flight = 2;
  bool pauses = false;  ///< Callers pause some operations in flight for a while.
  std::vector<Circle> circles = {};
  std::vector<AmongItem> items = {};  ///< Each worker begins its own items in this order.
  std::vector<Strike> strikes = {};
  std::optional<Odd> odd = {};
  std::optional<Leave> leave = {};

  bool concerns(std::size_t item, Rank rank) const;
  /// The call that this worker makes there: the item, or `odd`.
  const AmongItem& item_of(std::size_t item, Rank rank) const;
  /// The number of operations that all workers together begin.
  std::size_t begun_by_all() const;
  bool loses() const;
  /// True if no fault is planned.
  bool is_calm() const { return strikes.empty() && !odd && !leave; }
  std::string describe() const;
};

/// Sizes in elements of one member's call in memory. For all_to_all, `give` and `take` hold a size
/// for each member.
struct AmongSizes {
  std::uint64_t source = 0;
  std::uint64_t target = 0;
  std::vector<std::uint64_t> give = {};
  std::vector<std::uint64_t> take = {};
};
AmongSizes sizes_of(const AmongItem& item, const Circle& circle, std::uint32_t place);

}  // namespace stretto::sim

// SPDX-License-Identifier: Apache-2.0
// CallPlan: what one member of a group does in a call: the parts, their trees, where the bytes are
// and where the values go. Every call is made of trees: one for each part over all members, or one
// for each pair. Pure; it sends and copies nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "collective/strategy.h"
#include "core/group_call.h"
#include "stretto/status.h"
#include "worker/operations/host_part.h"

namespace stretto {

/// A member's call, and its memory. Thread: any.
struct GroupCallArgs {
  GroupCall call = {};
  std::span<const std::byte> source = {};
  std::span<std::byte> target = {};
  /// Of all_to_all with blocks of different sizes: elements for and from each member; else empty.
  std::vector<std::uint64_t> give = {};
  std::vector<std::uint64_t> take = {};
  collective::Place peer = collective::kNobody;  ///< Of a send: the receiver.
  std::uint64_t tag = 0;                         ///< Likewise.
};

/// The trees of a group: made once. Thread: loop.
class GroupTrees {
 public:
  /// all_reduce and broadcast use this strategy; its places are 0 to members - 1. `machines`: each
  /// member's machine, if sums may be made at each of them (goes_to_all); else empty.
  explicit GroupTrees(collective::Strategy strategy, std::vector<std::uint32_t> machines = {});

  std::uint32_t members() const { return strategy_.limit(); }
  const collective::Strategy& strategy() const { return strategy_; }
  /// All members send to `root`.
  const collective::Tree& star(collective::Place root) const { return stars_[root]; }
  /// `from` sends to `to`. They differ.
  collective::Tree pair(collective::Place from, collective::Place to) const;
  /// True if contributions of this size go to all members.
  bool go_to_all(std::uint64_t bytes) const { return goes_to_all(machines_, bytes); }

 private:
  collective::Strategy strategy_;
  std::vector<std::uint32_t> machines_;
  std::vector<collective::Tree> stars_;
};

/// One part at one member. Thread: any.
struct PlannedPart {
  std::uint32_t key = 0;                         ///< Key::part of its frames.
  collective::Place peer = collective::kNobody;  ///< Of a pair: the peer.
  collective::TreeNode node;
  std::span<const std::byte> source = {};  ///< The contribution; may be empty.
  std::span<std::byte> target = {};        ///< Where the value goes; empty if it is not wanted.
  bool contributes = false;                ///< It contributes bytes.
  bool values_travel = true;               ///< Children want the value.
  bool to_all = false;  ///< All peers want the contribution: each member is the root of its tree.
  ReduceOp op = ReduceOp::kSum;
  std::uint64_t call = 0;  ///< GroupCall::packed() of its frames.
};

struct CallPlan {
  struct Copy {
    std::span<const std::byte> from;
    std::span<std::byte> to;
  };
  std::vector<PlannedPart> parts;  ///< By key, then peer.
  std::vector<Copy> copies;        ///< From this member to itself.
};

/// Checks a call in a group of `members`: its root, reduction and sizes of memory.
Status check(const GroupCallArgs& call, std::uint32_t members, collective::Place self);

/// The plan of a checked call. A part has at most `part_bytes`. kInvalidArgument if there would be
/// more parts than can be named.
Result<CallPlan> plan_of(const GroupCallArgs& call, const GroupTrees& trees, collective::Place self,
                         std::uint32_t part_bytes);

}  // namespace stretto

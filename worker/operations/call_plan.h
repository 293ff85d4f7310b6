// SPDX-License-Identifier: Apache-2.0
// CallPlan: what one member of a group has to do in a call: which parts there are, by which tree
// each goes, where its bytes are and where its value is wanted. Every call is made of trees: one
// for each part over all members, or one for each pair. Pure; it sends and copies nothing.
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

/// What a member calls, and its memory. Thread: any.
struct GroupCallArgs {
  GroupCall call = {};
  std::span<const std::byte> source = {};
  std::span<std::byte> target = {};
  /// Of all_to_all with blocks of unlike sizes: elements for and from each member; else empty.
  std::vector<std::uint64_t> give = {};
  std::vector<std::uint64_t> take = {};
  collective::Place peer = collective::kNobody;  ///< Of a send: the receiver.
  std::uint64_t tag = 0;                         ///< The same.
};

/// The trees of a group: made once. Thread: loop.
class GroupTrees {
 public:
  /// all_reduce and broadcast go by this strategy; its places are 0 to members - 1.
  /// Which machines the members are on, if sums may be made at each of them (goes_to_all); else
  /// none.
  explicit GroupTrees(collective::Strategy strategy, std::vector<std::uint32_t> machines = {});

  std::uint32_t members() const { return strategy_.limit(); }
  const collective::Strategy& strategy() const { return strategy_; }
  /// All send to this one.
  const collective::Tree& star(collective::Place root) const { return stars_[root]; }
  /// The first has what the second wants. They are two.
  collective::Tree pair(collective::Place from, collective::Place to) const;
  /// Contributions of so many bytes go to all members.
  bool go_to_all(std::uint64_t bytes) const { return goes_to_all(machines_, bytes); }

 private:
  collective::Strategy strategy_;
  std::vector<std::uint32_t> machines_;
  std::vector<collective::Tree> stars_;
};

/// One part at one member. Thread: any.
struct PlannedPart {
  std::uint32_t key = 0;                         ///< Key::part of its frames.
  collective::Place peer = collective::kNobody;  ///< Of a pair: the other one.
  collective::TreeNode node;
  std::span<const std::byte> source = {};  ///< What is contributed; of nothing empty.
  std::span<std::byte> target = {};        ///< Where the value goes; empty if it is not wanted.
  bool contributes = false;                ///< With bytes.
  bool values_travel = true;               ///< Those below want the value.
  bool to_all = false;  ///< All others want the contribution: each is the root of its own tree.
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

/// Why a call cannot be made in a group of so many, or ok: root, reduction and sizes of memory.
Status check(const GroupCallArgs& call, std::uint32_t members, collective::Place self);

/// Of a call that has been checked. A part has at most `part_bytes`. kInvalidArgument if there
/// would be more parts than can be named.
Result<CallPlan> plan_of(const GroupCallArgs& call, const GroupTrees& trees, collective::Place self,
                         std::uint32_t part_bytes);

}  // namespace stretto

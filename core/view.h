// SPDX-License-Identifier: Apache-2.0
// View: the members of a job by node id, the owner of each slot, and the contributors of a round.
// Each epoch has one view. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/roster.h"

namespace stretto {

/// Consecutive slots of one owner.
struct SlotRun {
  std::uint32_t first = 0;
  std::uint32_t count = 0;
  NodeId owner = 0;
};

/// The owner of each slot.
class SlotMap {
 public:
  SlotMap() = default;
  /// Assigns `slots` slots to the shards in turn; none if there are no shards.
  SlotMap(std::uint32_t slots, const std::vector<NodeId>& shards);

  std::uint32_t size() const { return static_cast<std::uint32_t>(owners_.size()); }
  NodeId owner(std::uint32_t slot) const { return owners_[slot]; }
  void give(std::uint32_t slot, NodeId owner);
  /// The owners of `count` slots from `first` on, each slot once; slot 0 follows the last slot.
  std::vector<SlotRun> runs(std::uint32_t first, std::uint32_t count) const;
  const std::vector<NodeId>& owners() const { return owners_; }

  bool operator==(const SlotMap&) const = default;

 private:
  std::vector<NodeId> owners_;  // By slot.
};

/// The members of the job in one epoch.
struct View {
  /// The workers whose contributions make up a round, from this round on.
  struct Contributors {
    std::uint64_t from_round = 1;
    std::set<NodeId> nodes = {};
    bool operator==(const Contributors&) const = default;
  };

  std::uint32_t epoch = 0;  ///< 0: the job is still forming.
  std::uint32_t fence = 0;  ///< Data frames of epochs before this one are rejected.
  /// A job of fixed size keeps members that have left, with their ranks.
  std::map<NodeId, Member> members = {};
  SlotMap slots = {};
  Contributors contributors = {};
  std::set<NodeId> caught_up = {};  ///< Standbys that are in sync.
  std::uint64_t question = 0;       ///< Roster::question,
  std::uint64_t step = 0;           ///< and Roster::step.

  const Member* find(NodeId node) const;
  /// The number of ranks of a role, without joining members.
  std::uint32_t ranks(Role role) const;
  /// True if an admitted member with this role has not left.
  bool any(Role role) const;
};

/// The violated invariant of a view, in words; empty if all hold. Ranks of a role are 0 to n - 1;
/// each slot has an owner that is a server; there are slots if there are servers. Contributors are
/// admitted workers of the view, joining workers have the last ranks, and the fence is not ahead of
/// the epoch.
std::string violation(const View& view);
/// The violated invariant of two successive views: the epoch grows by one, fence and round never
/// decrease, and a node id means one process for ever.
std::string violation(const View& before, const View& after);

}  // namespace stretto

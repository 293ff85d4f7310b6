// SPDX-License-Identifier: Apache-2.0
// View: the members of a job by identity, and what follows from who they are: who owns which slot,
// and whose contributions make a round. Each epoch has one view. Pure.
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

/// The one owner of each slot.
class SlotMap {
 public:
  SlotMap() = default;
  /// So many slots, given to the shards in turn; none where there are no shards.
  SlotMap(std::uint32_t slots, const std::vector<NodeId>& shards);

  std::uint32_t size() const { return static_cast<std::uint32_t>(owners_.size()); }
  NodeId owner(std::uint32_t slot) const { return owners_[slot]; }
  void give(std::uint32_t slot, NodeId owner);
  /// The owners of `count` slots from `first` on, each slot once; after the last slot comes slot 0.
  std::vector<SlotRun> runs(std::uint32_t first, std::uint32_t count) const;
  const std::vector<NodeId>& owners() const { return owners_; }

  bool operator==(const SlotMap&) const = default;

 private:
  std::vector<NodeId> owners_;  // By slot.
};

/// Who is in the job in one epoch.
struct View {
  /// Whose contributions make a round, from this round on.
  struct Contributors {
    std::uint64_t from_round = 1;
    std::set<NodeId> nodes = {};
    bool operator==(const Contributors&) const = default;
  };

  std::uint32_t epoch = 0;  ///< 0: the members still gather.
  std::uint32_t fence = 0;  ///< Data frames of epochs before this one are refused.
  /// A job whose size is fixed keeps those that have left, with their ranks.
  std::map<NodeId, Member> members = {};
  SlotMap slots = {};
  Contributors contributors = {};
  std::set<NodeId> caught_up = {};  ///< Servers that stand by, and have all that is to be had.
  std::uint64_t question = 0;       ///< Roster::question,
  std::uint64_t step = 0;           ///< and Roster::step.

  const Member* find(NodeId node) const;
  /// How many ranks a role has, without those who are joining.
  std::uint32_t ranks(Role role) const;
  /// True if a member with this role is in, and has not left; who is joining is not in.
  bool any(Role role) const;
};

/// The invariant of a view that does not hold, in words; empty if all hold: ranks of a role are 0
/// to n - 1 (so rank 0 exists while anybody does), each slot has an owner that is a server,
/// there are slots if there are servers, contributors are workers in the view that are in, those
/// who are joining have the last ranks, and the fence is not ahead of the epoch.
std::string violation(const View& view);
/// The same for two views of which one follows the other: the epoch grows by one, fence and round
/// never go back, and an identity means one process for ever.
std::string violation(const View& before, const View& after);

}  // namespace stretto

// SPDX-License-Identifier: Apache-2.0
// PeerTensor: what one worker knows of a tensor that is exchanged among workers: the members, the
// trees of its parts, and the state of each part's round. It sends nothing.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "collective/part_rounds.h"
#include "collective/strategy.h"
#include "collective/strategy_chooser.h"
#include "common/memory/buffer.h"
#include "core/roster.h"
#include "van/control/control.h"
#include "van/wire/frame_views.h"
#include "worker/operations/host_part.h"
#include "worker/operations/tensor_table.h"
#include "worker/peer_state/group_state.h"
#include "worker/peer_state/part_sum.h"
#include "worker/peer_state/quorum_part.h"
#include "worker/peer_state/strategy_schedule.h"

namespace stretto {

/// The workers that take part; an index is a place, in the order of ranks or numbers. Thread: any.
struct Participants {
  std::vector<NodeId> nodes = {};
  std::vector<Rank> ranks = {};  ///< Their ranks.
  /// Each worker's machine, numbered in the order of the machines' first members.
  std::vector<std::uint32_t> machines = {};
  collective::Place self = collective::kNobody;

  /// These nodes, by their numbers, which are stable while ranks of an elastic job change.
  static Participants of_nodes(const Roster& roster, NodeId self, const std::vector<NodeId>& nodes);
  /// Of all workers of a job of fixed size, or of those with these ranks.
  static Participants of(const Roster& roster, NodeId self, const std::vector<Rank>& ranks = {});
  /// kNobody for a node that does not take part.
  collective::Place place_of(NodeId node) const;
  /// The ordinal of a part among those with the same root, or with successive roots. It selects one
  /// of the links between two workers (PeerLinks::link_to).
  std::uint32_t turn_of(std::uint32_t part) const {
    return part / static_cast<std::uint32_t>(nodes.size());
  }
};

/// In which order sums of a tensor are made.
collective::Reduction::Order order_of(const TensorSpec& spec);

/// A pinned exchange among workers, as a plan. Not of kServers and kAuto.
collective::StrategyPlan plan_of(Exchange exchange);

/// One part of a PeerTensor. Thread: loop.
struct PeerPart {
  /// A child's sum that arrived before it could be added.
  struct Kept {
    collective::Place from = collective::kNobody;
    wire::ReduceFrame frame;
    Buffer payload;
  };
  /// The sum of the child at this place; null if there is none.
  const Kept* kept_of(collective::Place child) const;

  collective::PartRounds rounds;
  PartSum sum;
  // In an elastic job, where what was sent must outlive its operation:
  Buffer made = {};   ///< Where the open round's sum is made.
  Buffer value = {};  ///< The last known value; `value_from` counts its contributors.
  std::uint32_t value_from = 0;
  std::uint32_t sum_from = 0;  ///< Contributors to the sum that is being made.
  bool has_value = false;      ///< `value` is that of the open round.
  std::vector<Kept> kept = {};
  bool unsent = false;  ///< The sum is complete, and the parent does not know the tensor yet.

  /// A frame of a term's first round that arrived before this worker had begun it.
  struct Early {
    collective::Place from = collective::kNobody;
    wire::Header header;
    Buffer payload;
  };
  std::vector<Early> early = {};
  std::uint64_t term = 0;  ///< The first round of the term whose plan its trees follow.
  bool held = false;       ///< Its operation waits for the next term's plan.
};

/// Thread: loop.
struct PeerTensor {
  /// Rounds from this one on cannot be made, for this reason.
  struct RoundFailure {
    std::uint64_t round = 0;
    Status why;
  };

  PeerTensor(const TensorState& tensor, Participants members, const collective::Strategy& strategy);

  /// True if the round is the first of a term whose plan this part does not use yet.
  bool enters_term(std::uint32_t part, std::uint64_t round) const {
    return terms && StrategySchedule::begin_at(round) && parts[part].term != round;
  }
  /// The part, which has no open round, uses the plan of the next term from now on.
  void enter_term(std::uint32_t part);
  /// Applies the decision of `terms`: the classes of parts, and the order in which they begin.
  void take_plan();

  /// The reduction of the contributions of a part's operation: a broadcast has only one.
  ops::ReduceOp reduction_for(const OperationPtr& operation) const {
    return operation != nullptr && operation->broadcasts() ? ops::ReduceOp::kSum : reduction;
  }

  /// In an elastic job: no rounds begin from now on; with `open_ones`, open ones stop, too.
  void stop(bool open_ones);
  /// The rounds finished so far.
  control::Regroup::Finished finished() const;
  /// These make rounds from now on, by this strategy; resume each part with node_of().
  void regroup(Participants places, const collective::Strategy& strategy, std::uint64_t number);
  collective::TreeNode node_of(const collective::Strategy& strategy, std::size_t part) const;
  NodeId self() const { return members.nodes[members.self]; }
  /// The worker knows the tensor. False if it is no member, or that was known already.
  bool note_ready(NodeId node);
  /// Drops everything received.
  void clear();

  /// The least number of open rounds; of a group, the number of its next call.
  std::uint64_t first_open() const;
  /// An operation of this worker waits for a round with this number or a later one.
  bool waits_from(std::uint64_t round) const;

  Participants members;
  ops::ReduceOp reduction;
  std::vector<PeerPart> parts;
  std::vector<HostPart> host;         ///< Parts whose contributions go to all members; or none.
  std::vector<QuorumPart> closing;    ///< One for each part whose rounds may close early; or none.
  std::vector<std::uint32_t> turns;   ///< Parts, in the order in which an operation begins them.
  std::unique_ptr<GroupState> group;  ///< It has calls, and no parts; else null.
  IndexSet all;                       ///< The members' places.
  IndexSet ready;                     ///< Places that know the tensor, this one too.
  std::optional<RoundFailure> doom;
  std::optional<StrategySchedule> terms;  ///< For kAuto; else one strategy is used for ever.
  std::uint32_t held = 0;                 ///< The number of held parts.
  bool elastic = false;
  std::uint64_t generation = 0;  ///< In an elastic job: of its group; 0: it is not decided yet.

 private:
  std::vector<collective::Place> deal(const collective::Strategy& strategy);

  const std::uint32_t id_;
  const std::uint32_t first_;           // The class of the first part, before the remainder.
  std::vector<std::uint16_t> classes_;  // By part.
};

}  // namespace stretto

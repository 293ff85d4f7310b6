// SPDX-License-Identifier: Apache-2.0
// PeerTensor: what one worker knows of a tensor that is exchanged among workers: who they are, by
// which trees its parts go, and where each part's round stands. It sends nothing.
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

/// The workers that take part, in the order of their ranks or numbers: their places. Thread: any.
struct Participants {
  std::vector<NodeId> nodes = {};
  std::vector<Rank> ranks = {};  ///< Theirs.
  /// On which machine each is: of those that there are, in the order of their first members.
  std::vector<std::uint32_t> machines = {};
  collective::Place self = collective::kNobody;

  /// These, by their numbers, which stay while ranks of an elastic job change.
  static Participants of_nodes(const Roster& roster, NodeId self, const std::vector<NodeId>& nodes);
  /// Of all workers of a job of fixed size, or of those with these ranks.
  static Participants of(const Roster& roster, NodeId self, const std::vector<Rank>& ranks = {});
  /// kNobody for a node that is none of them.
  collective::Place place_of(NodeId node) const;
  /// The how many-eth it is of the parts with the same root, or with roots that follow one another:
  /// over which of the links between two of them it goes (PeerLinks::link_to).
  std::uint32_t turn_of(std::uint32_t part) const {
    return part / static_cast<std::uint32_t>(nodes.size());
  }
};

/// In which order sums of a tensor are made.
collective::Reduction::Order order_of(const TensorSpec& spec);

/// What a pinned exchange among workers is as a plan. Not of kServers and kAuto.
collective::StrategyPlan plan_of(Exchange exchange);

/// One part of it. Thread: loop.
struct PeerPart {
  /// A child's sum that came before it could be added.
  struct Kept {
    collective::Place from = collective::kNobody;
    wire::ReduceFrame frame;
    Buffer payload;
  };
  /// Of the child with this place; null if there is none.
  const Kept* kept_of(collective::Place child) const;

  collective::PartRounds rounds;
  PartSum sum;
  // In an elastic job, where what was sent must outlive its operation:
  Buffer made = {};   ///< Where the open round's sum is made,
  Buffer value = {};  ///< and the last value that is known; of so many contributors.
  std::uint32_t value_from = 0;
  std::uint32_t sum_from = 0;  ///< So many are in the sum that is being made.
  bool has_value = false;      ///< It is that of the open round.
  std::vector<Kept> kept = {};
  bool unsent = false;  ///< The sum is whole, and the parent does not know the tensor yet.

  /// A frame of a term's first round that came before this place has begun it.
  struct Early {
    collective::Place from = collective::kNobody;
    wire::Header header;
    Buffer payload;
  };
  std::vector<Early> early = {};
  std::uint64_t term = 0;  ///< The round with which the term began by whose plan its trees are.
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

  /// The round is the first of a term whose plan this part does not go by yet.
  bool enters_term(std::uint32_t part, std::uint64_t round) const {
    return terms && StrategySchedule::begin_at(round) && parts[part].term != round;
  }
  /// The part, of which no round is open, goes by the plan of the term that begins next.
  void enter_term(std::uint32_t part);
  /// `terms` has decided: which part is of which class, and in which order they begin.
  void take_plan();

  /// What the contributions of a part's operation are reduced by: a broadcast has one.
  ops::ReduceOp reduction_for(const OperationPtr& operation) const {
    return operation != nullptr && operation->broadcasts() ? ops::ReduceOp::kSum : reduction;
  }

  /// In an elastic job: no rounds are begun from now on, and open ones do not go on either.
  void stop(bool open_ones);
  /// So many have been.
  control::Regroup::Finished finished() const;
  /// These make them from now on, by this strategy; each part is to be resumed with node_of().
  void regroup(Participants places, const collective::Strategy& strategy, std::uint64_t number);
  collective::TreeNode node_of(const collective::Strategy& strategy, std::size_t part) const;
  NodeId self() const { return members.nodes[members.self]; }
  /// The worker knows the tensor. False if it is no member, or that was known.
  bool note_ready(NodeId node);
  /// Nothing is kept of what has come.
  void clear();

  /// The open rounds' least number; of a group, that of its next call.
  std::uint64_t first_open() const;
  /// An operation of this worker waits for a round with this number or a later one.
  bool waits_from(std::uint64_t round) const;

  Participants members;
  ops::ReduceOp reduction;
  std::vector<PeerPart> parts;
  std::vector<HostPart> host;         ///< The same if contributions go to all members.
  std::vector<QuorumPart> closing;    ///< One for each part whose rounds may close early; or none.
  std::vector<std::uint32_t> turns;   ///< Parts, in the order in which an operation begins them.
  std::unique_ptr<GroupState> group;  ///< It has calls, and no parts; else null.
  IndexSet all;                       ///< Their places.
  IndexSet ready;                     ///< Places that know the tensor, this one too.
  std::optional<RoundFailure> doom;
  std::optional<StrategySchedule> terms;  ///< The exchange is kAuto; else by one strategy for ever.
  std::uint32_t held = 0;                 ///< So many parts are.
  bool elastic = false;
  std::uint64_t generation = 0;  ///< In an elastic job: of its members; 0: they are not chosen yet.

 private:
  std::vector<collective::Place> deal(const collective::Strategy& strategy);

  const std::uint32_t id_;
  const std::uint32_t first_;           // Which class the first part is of, before the remainder.
  std::vector<std::uint16_t> classes_;  // By part.
};

}  // namespace stretto

// SPDX-License-Identifier: Apache-2.0
// PeerExchange: tensors that are exchanged among workers: which of them know a tensor, and whose
// frame it is. A part's rounds are AllReduceRounds'; which of them cannot be made any more,
// RoundFailures knows; and with whom they are made in an elastic job, ElasticGroups.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <vector>

#include "van/engine/van.h"
#include "worker/host_path/host_exchange.h"
#include "worker/operations/exchange_backend.h"
#include "worker/peer_path/allreduce_rounds.h"
#include "worker/peer_path/elastic_groups.h"
#include "worker/peer_path/group_calls.h"
#include "worker/peer_path/quorum_exchange.h"
#include "worker/peer_path/round_failures.h"
#include "worker/peer_path/strategy_selector.h"

namespace stretto {

/// Thread: loop.
class PeerExchange final : public ExchangeBackend {
 public:
  /// All outlive this.
  PeerExchange(Van& van, Tensors& tensors, PeerLinks& peers, OperationEvents outcomes);

  /// A tensor is exchanged among all workers, from now on; a group's calls are made among those of
  /// these ranks. All of them are told so.
  Status add(TensorState& tensor, const Roster& roster, MemberSelf self,
             const std::vector<Rank>& group);
  /// Some tensor's rounds are made among workers, so that each of them must take part.
  bool has_tensors() const;
  /// With whom this worker makes rounds is being chosen anew.
  bool chooses() const { return elastic_.waits(); }

  Status refusal(const TensorState& tensor, const Operation& operation) const override;
  std::string missing(const TensorState& tensor, const Operation& operation) const override;
  void begin(TensorState& tensor, const OperationPtr& operation) override;
  void advance(TensorState& tensor, const Operation& operation) override;
  void forget(Operation&) override {}
  void failed(const TensorState& tensor, const Status& why) override {
    calls_.to_all().drop(tensor);
    ends_.failed(tensor, why);
  }

  void on_data(LinkId link, const wire::Header& header, Buffer payload);
  /// Where the value in the frame of this header is wanted; empty if it is not, or not yet known.
  std::span<std::byte> landing(LinkId link, const wire::Header& header);
  /// A word of a worker to whom there is a link.
  void on_control(LinkId link, const Member& peer, const control::Message& message);
  /// Who has left, and who is in at this step, is known by the roster.
  void follow(const Roster& roster, MemberSelf self);
  /// Looks at the links, for tensors whose plan is chosen, and closes rounds whose time has come.
  void tick();
  Time next_due() const { return has_whole() ? Time{} : quorums_.next_due(); }
  /// Values of contributions to all are to be made next.
  bool has_whole() const { return hosts_.has_whole() || calls_.to_all().has_whole(); }
  StrategySelector& plans() { return plans_; }
  /// This worker makes no rounds any more: the others hear which ones there will not be, those too
  /// whose links open later.
  void leave() { ends_.leave(); }

 private:
  using Place = collective::Place;
  struct Source {
    TensorState& tensor;
    PeerTensor& known;
    Place from;
  };

  void greet(NodeId node);
  void on_open(const Member& peer, const control::Open& open);
  void on_plan(const Member& peer, const control::TermPlan& told);
  /// Whose frame it is, and of which tensor; nothing if it is not wanted.
  std::optional<Source> source_of(LinkId link, const wire::Header& header);
  Result<Participants> places_for(const TensorState& tensor, const Roster& roster, MemberSelf self,
                                  const std::vector<Rank>& group);

  Van& van_;
  Tensors& tensors_;
  PeerLinks& peers_;
  const OperationEvents outcomes_;
  AllReduceRounds rounds_;
  QuorumExchange quorums_;
  HostExchange hosts_;
  GroupCalls calls_;
  StrategySelector plans_;
  MemberTensors members_;
  RoundFailures ends_;
  std::map<std::uint32_t, std::set<NodeId>> known_to_;  // Tensors, to workers that said so.
  ElasticGroups elastic_;
};

}  // namespace stretto

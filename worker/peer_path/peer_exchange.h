// SPDX-License-Identifier: Apache-2.0
// PeerExchange: tensors that are exchanged among workers: which workers know a tensor, and which
// tensor a frame belongs to. AllReduceRounds makes the rounds of parts, RoundFailures knows which
// cannot be made any more, and ElasticGroups the group of an elastic job.
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

  /// Exchanges a tensor among all workers from now on, and a group's calls among those of these
  /// ranks. Tells all of them.
  Status add(TensorState& tensor, const Roster& roster, MemberSelf self,
             const std::vector<Rank>& group);
  /// True if some tensor's rounds are made among workers, so that each of them must take part.
  bool has_tensors() const;
  /// True while the group of this worker is being decided.
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
  /// Where the value in this frame should be stored; empty if it is unwanted, or not known yet.
  std::span<std::byte> landing(LinkId link, const wire::Header& header);
  /// A message of a worker with an open link.
  void on_control(LinkId link, const Member& peer, const control::Message& message);
  /// Takes departed workers and the members of this step from the roster.
  void follow(const Roster& roster, MemberSelf self);
  /// Measures the links, for tensors whose plan is chosen, and closes rounds that are due.
  void tick();
  Time next_due() const { return has_whole() ? Time{} : quorums_.next_due(); }
  /// True if values of contributions to all members are pending.
  bool has_whole() const { return hosts_.has_whole() || calls_.to_all().has_whole(); }
  StrategySelector& plans() { return plans_; }
  /// This worker stops making rounds: tells the others which rounds it will not make, also those
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
  /// A frame's sender and tensor; nothing if the frame is unwanted.
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
  PeerTensors members_;
  RoundFailures ends_;
  std::map<std::uint32_t, std::set<NodeId>> known_to_;  // By tensor: workers that know it.
  ElasticGroups elastic_;
};

}  // namespace stretto

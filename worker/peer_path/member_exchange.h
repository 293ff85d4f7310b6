// SPDX-License-Identifier: Apache-2.0
// MemberExchange: tensors that are exchanged among workers: which of them know a tensor, and whose
// frame it is. A part's rounds are MemberRounds'; which of them cannot be made any more, MemberEnds
// knows; and with whom they are made in an elastic job, ElasticMembers.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <vector>

#include "van/engine/van.h"
#include "worker/host_path/host_exchange.h"
#include "worker/operations/exchange_way.h"
#include "worker/peer_path/elastic_members.h"
#include "worker/peer_path/member_calls.h"
#include "worker/peer_path/member_ends.h"
#include "worker/peer_path/member_plans.h"
#include "worker/peer_path/member_rounds.h"
#include "worker/peer_path/quorum_exchange.h"

namespace stretto {

/// Thread: loop.
class MemberExchange final : public ExchangeWay {
 public:
  /// All outlive this.
  MemberExchange(Van& van, Tensors& tensors, PeerLinks& peers, Outcomes outcomes);

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
  MemberPlans& plans() { return plans_; }
  /// This worker makes no rounds any more: the others hear which ones there will not be, those too
  /// whose links open later.
  void leave() { ends_.leave(); }

 private:
  using Place = collective::Place;
  struct Source {
    TensorState& tensor;
    MemberTensor& known;
    Place from;
  };

  void greet(NodeId node);
  void on_open(const Member& peer, const control::Open& open);
  void on_plan(const Member& peer, const control::TermPlan& told);
  /// Whose frame it is, and of which tensor; nothing if it is not wanted.
  std::optional<Source> source_of(LinkId link, const wire::Header& header);
  Result<MemberPlaces> places_for(const TensorState& tensor, const Roster& roster, MemberSelf self,
                                  const std::vector<Rank>& group);

  Van& van_;
  Tensors& tensors_;
  PeerLinks& peers_;
  const Outcomes outcomes_;
  MemberRounds rounds_;
  QuorumExchange quorums_;
  HostExchange hosts_;
  MemberCalls calls_;
  MemberPlans plans_;
  MemberTensors members_;
  MemberEnds ends_;
  std::map<std::uint32_t, std::set<NodeId>> known_to_;  // Tensors, to workers that said so.
  ElasticMembers elastic_;
};

}  // namespace stretto

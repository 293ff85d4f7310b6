// SPDX-License-Identifier: Apache-2.0
// ElasticGroups: tensors that are exchanged among workers of an elastic job, during a group
// reconfiguration: what stops, what has been finished, and what continues.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "van/engine/van.h"
#include "worker/peer_path/allreduce_rounds.h"
#include "worker/peer_path/round_failures.h"
#include "worker/peer_path/strategy_selector.h"
#include "worker/peers/group_view.h"

namespace stretto {

/// This worker's id, and its program's current step.
struct MemberSelf {
  NodeId node = 0;
  std::uint64_t step = 0;
};

/// Thread: loop.
class ElasticGroups {
 public:
  /// All outlive this.
  struct Parts {
    Van& van;
    Tensors& tensors;
    PeerLinks& peers;
    PeerTensors& members;
    const std::map<std::uint32_t, std::set<NodeId>>& knowers;  ///< By tensor: workers with it.
    AllReduceRounds& rounds;
    StrategySelector& plans;
    RoundFailures& ends;
    const OperationEvents& outcomes;
  };
  using Frame = std::function<void(LinkId, const wire::Header&, Buffer)>;

  /// `again` gets frames that arrived before their group was decided.
  ElasticGroups(const Parts& parts, Frame again);

  /// The last group decided; before the first decision only this worker.
  Result<Participants> places_for(const TensorState& tensor, const Roster& roster, MemberSelf self);
  /// The tensor is known now. Its rounds begin when a group is decided.
  Status adopt(TensorState& tensor, PeerTensor& known);

  /// Takes the members of the program's current step from the roster.
  void follow(const Roster& roster, MemberSelf self);
  /// There is a link to this worker now.
  void greet(NodeId node) { view_.greet(node); }
  void on_said(NodeId from, const control::Regroup& said) { view_.on_said(from, said); }
  /// True if the frame is of a group decision that has not arrived here yet, and is kept until it
  /// has.
  bool keep_ahead(NodeId from, LinkId link, const wire::Header& header, const Buffer& payload);

  /// True while a group is being decided.
  bool waits() const { return view_.waits(); }
  /// The workers that have not reported for it.
  std::string missing() const;

 private:
  std::vector<control::Regroup::Finished> stop(bool open_ones);
  void go_on(const control::Regroup& decided);
  Status regroup(TensorState& tensor, PeerTensor& known);
  Status check_room(const TensorState& tensor) const;
  void note_knowers(PeerTensor& known, std::uint32_t id) const;

  const Parts parts_;
  const Frame again_;
  GroupView view_;
  std::map<std::uint32_t, control::Regroup::Finished> finished_;  // By tensor, at the last one.
  std::optional<Roster> roster_;                                  // The last.
  struct FutureFrame {
    LinkId link = 0;
    wire::Header header;
    Buffer payload;
  };
  std::map<std::tuple<NodeId, std::uint32_t, std::uint32_t>, FutureFrame>
      ahead_;  // By tensor and part.
};

}  // namespace stretto

// SPDX-License-Identifier: Apache-2.0
// ElasticGroups: tensors that are exchanged among workers of an elastic job, when those who make
// rounds together are chosen anew: what stops, what has been finished, and what goes on.
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

/// Who this worker is, and the step that its program is in.
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
    MemberTensors& members;
    const std::map<std::uint32_t, std::set<NodeId>>& knowers;  ///< Of tensors: who has said so.
    AllReduceRounds& rounds;
    StrategySelector& plans;
    RoundFailures& ends;
    const OperationEvents& outcomes;
  };
  using Frame = std::function<void(LinkId, const wire::Header&, Buffer)>;

  /// `again` takes frames that came before their members were chosen.
  ElasticGroups(const Parts& parts, Frame again);

  /// Those who were chosen last; nobody but this worker before.
  Result<Participants> places_for(const TensorState& tensor, const Roster& roster, MemberSelf self);
  /// The tensor is known now. Its rounds begin when members have been chosen.
  Status adopt(TensorState& tensor, PeerTensor& known);

  /// Who is in at the step that the program is in, is known by the roster.
  void follow(const Roster& roster, MemberSelf self);
  /// There is a link to this worker now.
  void greet(NodeId node) { view_.greet(node); }
  void on_said(NodeId from, const control::Regroup& said) { view_.on_said(from, said); }
  /// True if the frame is of a choice of members that has not come here yet, and is kept until it
  /// has.
  bool keep_ahead(NodeId from, LinkId link, const wire::Header& header, const Buffer& payload);

  /// Members are being chosen,
  bool waits() const { return view_.waits(); }
  /// and this is who has not said so.
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
  std::map<std::uint32_t, control::Regroup::Finished> finished_;  // By tensor, at the last choice.
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

// SPDX-License-Identifier: Apache-2.0
// MemberPlans: what this worker's links to other machines carry, and, at the worker that chooses,
// what everybody's do and which plan a tensor goes by next. The one that chooses is the first of
// the tensor's members.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "collective/chooser.h"
#include "van/van.h"
#include "worker/member_tensor.h"
#include "worker/peer_links.h"
#include "worker/rate_watch.h"

namespace stretto {

/// Thread: loop.
class MemberPlans {
 public:
  /// collective::choose().
  using Choose = std::function<collective::Choice(const collective::Surroundings&,
                                                  std::uint64_t bytes, std::uint64_t part_bytes,
                                                  const std::optional<collective::Plan>& current)>;

  /// Both outlive this.
  MemberPlans(Van& van, PeerLinks& peers) : van_(van), peers_(peers) {}
  /// Before there are tensors; in tests.
  void set_choose(Choose choose) { choose_ = std::move(choose); }

  /// There is a tensor whose plan is chosen; its members are all workers.
  void watch(const MemberPlaces& members);
  /// Looks at the links, and tells who chooses if they carry something else than it was told.
  void tick();
  /// What a worker's links carry.
  void note(NodeId node, double rate) { rates_[node] = rate; }
  /// At the worker that chooses: how the tensor goes from that round on.
  collective::Plan choose(const TensorState& tensor, const MemberTensor& known,
                          std::uint64_t round) const;

 private:
  std::vector<double> machine_rates() const;

  Van& van_;
  PeerLinks& peers_;
  Choose choose_ = collective::choose;
  MemberPlaces members_;
  std::vector<NodeId> elsewhere_;  // On other machines.
  RateWatch watch_;
  double told_ = 0;
  std::map<NodeId, double> rates_;
};

}  // namespace stretto

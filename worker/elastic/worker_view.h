// SPDX-License-Identifier: Apache-2.0
// WorkerView: a worker's rank among the members, and the number of the worker at each rank.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "stretto/checkpoints.h"
#include "van/membership/membership_client.h"

namespace stretto {

/// Of one epoch; a value.
struct WorkerView {
  std::uint32_t epoch = 0;
  std::uint32_t min_workers = 0;
  Rank rank = 0;
  Rank number = 0;                 ///< Member::number.
  NodeId lost_as = 0;              ///< This worker's id if it was expelled; 0: it is a member.
  std::vector<Rank> numbers = {};  ///< By rank: Member::number.
  RestoredFrom restored = {};      ///< The checkpoint that the job resumed from.

  std::uint32_t size() const { return static_cast<std::uint32_t>(numbers.size()); }
};

/// `steps`: the program has begun a step. Without, workers that join before a later step are not
/// counted as members.
WorkerView place_in(const Roster& roster, NodeId self, bool steps = true);

/// Reports each new view of this worker, and its expulsion. Thread: loop.
class ViewListener {
 public:
  using Then = std::function<void(const WorkerView&)>;

  /// Null: views are not reported.
  explicit ViewListener(Then then) : then_(std::move(then)) {}
  void follow(const MembershipClient& membership, bool steps);

 private:
  Then then_;
  std::uint32_t epoch_ = 0;
  bool is_out_ = false;
  bool steps_ = false;
};

}  // namespace stretto

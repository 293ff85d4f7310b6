// SPDX-License-Identifier: Apache-2.0
// WorkerView: where a worker stands among those who are in: its rank, and who has which.
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
  Rank number = 0;     ///< Member::number.
  NodeId lost_as = 0;  ///< Who this was in the job, which goes on without it; 0: it is in.
  std::vector<Rank> numbers = {};  ///< By rank: Member::number.
  RestoredFrom restored = {};      ///< What the job goes on from.

  std::uint32_t size() const { return static_cast<std::uint32_t>(numbers.size()); }
};

/// `steps`: the program has begun one. Who comes in before a later step than any that a program
/// tells of is not in, as far as that program goes.
WorkerView place_in(const Roster& roster, NodeId self, bool steps = true);

/// Tells where this worker stands whenever there is a new view, and when it is out. Thread: loop.
class ViewListener {
 public:
  using Then = std::function<void(const WorkerView&)>;

  /// Null: nobody is told.
  explicit ViewListener(Then then) : then_(std::move(then)) {}
  void follow(const MembershipClient& membership, bool steps);

 private:
  Then then_;
  std::uint32_t epoch_ = 0;
  bool is_out_ = false;
  bool steps_ = false;
};

}  // namespace stretto

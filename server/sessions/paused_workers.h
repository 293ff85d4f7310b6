// SPDX-License-Identifier: Apache-2.0
// PausedWorkers: the workers that contribute nothing until the next barrier. The shard requests
// empty contributions from them for open rounds.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "server/aggregation/consistency.h"
#include "van/control/control.h"

namespace stretto {

/// Thread: loop.
class PausedWorkers {
 public:
  using Tell = std::function<void(NodeId, const control::Wanted&)>;

  /// `tell` sends a contribution request to a worker.
  explicit PausedWorkers(Tell tell) : tell_(std::move(tell)) {}

  /// A worker pauses until a barrier, or reports one as open. An open barrier ends all pauses until
  /// it, also those whose message comes later, on another link.
  void note(NodeId worker, const control::SitOut& said);

  bool sits(NodeId worker) const {
    const auto said = since_.find(worker);
    return said != since_.end() && said->second > over_;
  }
  /// Sends requests to the paused workers that the part's open round lacks, if it collects
  /// contributions. Call it when a round opens, and when a worker pauses.
  void ask(std::uint32_t part, const TensorSpec& spec, const Consistency& rounds) const;
  /// Why waiters of a part can never be answered, or ok.
  Status in_vain(const Consistency& rounds, Mode mode) const;

 private:
  bool anybody() const { return last_ > over_; }
  std::vector<NodeId> sitting_of(std::vector<NodeId> workers) const;

  Tell tell_;
  std::map<NodeId, std::uint64_t> since_;  // The barrier that ends the pause; 0: none.
  std::uint64_t last_ = 0;                 // The greatest of these.
  std::uint64_t over_ = 0;                 // The last opened barrier.
};

}  // namespace stretto

// SPDX-License-Identifier: Apache-2.0
// PausedWorkers: which workers make no shares until all do so, as they said, and what a shard does
// about it: it asks them for the empty shares that rounds want.
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

  /// `tell` asks a worker for a share.
  explicit PausedWorkers(Tell tell) : tell_(std::move(tell)) {}

  /// What a worker says. That the barrier of a number is open ends it for all who sat out until
  /// then, also for those whose own word comes later, for it comes on another link.
  void note(NodeId worker, const control::SitOut& said);

  bool sits(NodeId worker) const {
    const auto said = since_.find(worker);
    return said != since_.end() && said->second > over_;
  }
  /// Asks those who sit out for their shares of the part's open round, if it collects them. Once
  /// is enough: when the round opens, or when a worker says that it sits out.
  void ask(std::uint32_t part, const TensorSpec& spec, const Consistency& rounds) const;
  /// Why those who wait for a part wait in vain, or ok.
  Status in_vain(const Consistency& rounds, Mode mode) const;

 private:
  bool anybody() const { return last_ > over_; }
  std::vector<NodeId> sitting_of(std::vector<NodeId> workers) const;

  Tell tell_;
  std::map<NodeId, std::uint64_t> since_;  // The barrier until which they sit out; 0: none.
  std::uint64_t last_ = 0;                 // The greatest of these.
  std::uint64_t over_ = 0;                 // The last that was open.
};

}  // namespace stretto

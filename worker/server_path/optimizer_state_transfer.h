// SPDX-License-Identifier: Apache-2.0
// OptimizerStateTransfer: moves what the servers' update rules remember of a tensor to the program,
// and back. One piece of one part is in flight at a time: transfers are rare, and must not slow
// down training.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "common/clock.h"
#include "van/control/control.h"
#include "van/engine/van.h"

namespace stretto {

/// Thread: loop.
class OptimizerStateTransfer {
 public:
  using Bytes = std::vector<std::byte>;
  using Saved = std::function<void(const Result<Bytes>&)>;
  using Loaded = std::function<void(const Status&)>;
  /// A tensor, and where its parts are.
  struct Target {
    std::uint32_t tensor = 0;
    TensorSpec spec;
    std::uint32_t part_bytes = 0;
    std::vector<LinkId> links;  ///< By part.
  };

  /// `patience` limits each transfer, including its wait for earlier ones.
  OptimizerStateTransfer(Van& van, const Clock& clock, Duration patience)
      : van_(van), clock_(clock), patience_(patience) {}

  /// kMismatch if pushes arrive meanwhile. `done` must not begin another transfer.
  void save(Target target, Saved done);
  /// `block` must stay until `done`. Nothing is sent if it does not fit.
  void load(Target target, std::span<const std::byte> block, const Loaded& done);

  void on_piece(const control::StatePiece& piece);
  /// Parts have another owner, over another link: requests to the previous owner are repeated.
  void move(LinkId from, LinkId to);
  /// Ends transfers that take too long.
  void tick();
  Time next_due() const { return transfers_.empty() ? Time::max() : transfers_.front().deadline; }
  /// Ends all transfers.
  void end_all(const Status& why);
  bool idle() const { return transfers_.empty(); }

 private:
  struct Transfer {
    Target target;
    Saved done;                                      // Of a load too; its block is empty then.
    bool sets = false;                               // It is a load.
    std::vector<std::span<const std::byte>> to_set;  // What it loads, by part.
    Bytes block = {};                                // A save: its complete parts.
    Bytes come = {};                                 // What has arrived of the next part.
    std::uint32_t part = 0;                          // The one in flight.
    std::uint64_t offset = 0;                        // In that part.
    std::optional<std::uint64_t> version = {};       // Of the values whose state arrived.
    Time deadline = {};
  };

  void add(Transfer transfer);
  void go_on();
  bool ask(Transfer& transfer);
  Status take(Transfer& transfer, const control::StatePiece& piece);
  void end(const Status& why);

  Van& van_;
  const Clock& clock_;
  const Duration patience_;
  std::uint64_t asked_ = 0;         // The number of the last request.
  std::deque<Transfer> transfers_;  // The first is in flight.
};

}  // namespace stretto

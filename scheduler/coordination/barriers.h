// SPDX-License-Identifier: Apache-2.0
// Barriers: sets of the nodes at each barrier, never counters, so that a repeated message counts
// once. At some barriers all workers pause until the last has come. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>

#include "stretto/status.h"
#include "stretto/types.h"

namespace stretto {

/// The purpose of a barrier, the same for all nodes at it.
enum class Meeting : std::uint8_t { kBarrier, kSitOut, kCheckpoint };
struct Purpose {
  Purpose(Meeting what = Meeting::kBarrier, std::uint64_t of = 0) : meeting(what), step(of) {}

  Meeting meeting;
  std::uint64_t step;  ///< Of the program; only for checkpoints.
  friend bool operator==(const Purpose&, const Purpose&) = default;
};

/// Thread: loop.
class Barriers {
 public:
  enum class Outcome {
    kWaiting,
    kComplete,     ///< This node was the last; all may continue.
    kPast,         ///< Already complete: only this node must be told.
    kOutOfBounds,  ///< No node can be that far ahead.
    kMixed,        ///< Other nodes are there for another purpose: this one was not added.
  };

  /// `node` is at barrier `number` (from 1), of `expected` nodes.
  Outcome enter(std::uint64_t number, NodeId node, std::size_t expected, Purpose purpose = {});
  /// The previous scheduler has opened all barriers up to this one, as a member reports. Returns
  /// the nodes that wait there.
  std::set<NodeId> pass(std::uint64_t number);
  /// The node stops waiting there. True if the barrier is complete already.
  bool withdraw(std::uint64_t number, NodeId node);
  /// A complete barrier that has not been opened.
  struct Open {
    std::uint64_t number = 0;
    Purpose purpose = {};
    NodeId last = 0;  ///< The last node that came; it may have left.
  };
  /// Waits only for these nodes from now on, and drops all others. Returns the barrier that this
  /// completes, if any.
  std::optional<Open> expect(const std::set<NodeId>& nodes);
  /// The error for a node that came to a mixed barrier.
  Status mixed(const Purpose& purpose) const;
  /// `absent` will not come: releases the nodes at open barriers without it. Returns these nodes.
  std::set<NodeId> give_up(NodeId absent);

 private:
  static constexpr std::uint64_t kMostAhead = 1;  // A worker is at a single barrier at a time.
  std::map<std::uint64_t, std::set<NodeId>> open_;
  NodeId last_ = 0;  // The last node at any barrier.
  Purpose purpose_;  // Of the open barrier; there is a single one at a time.
  std::uint64_t completed_ = 0;
};

}  // namespace stretto

// SPDX-License-Identifier: Apache-2.0
// Barriers: sets of who has come, never counters, so that a repeated message counts once. Some are
// for those who sit out meanwhile: then all must. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>

#include "stretto/status.h"
#include "stretto/types.h"

namespace stretto {

/// What those who come to a barrier do there: all the same.
enum class Meeting : std::uint8_t { kBarrier, kSitOut, kCheckpoint };
struct Purpose {
  Purpose(Meeting what = Meeting::kBarrier, std::uint64_t of = 0) : meeting(what), step(of) {}

  Meeting meeting;
  std::uint64_t step;  ///< Of the program; checkpoints only.
  friend bool operator==(const Purpose&, const Purpose&) = default;
};

/// Thread: loop.
class Barriers {
 public:
  enum class Outcome {
    kWaiting,
    kComplete,     ///< This was the last; all may go.
    kPast,         ///< It is complete already: only this one need be told.
    kOutOfBounds,  ///< Nobody can be that far ahead.
    kMixed,        ///< Others are there for something else: this one has not come.
  };

  /// `node` is at barrier `number` (from 1), of `expected` nodes.
  Outcome enter(std::uint64_t number, NodeId node, std::size_t expected, Purpose purpose = {});
  /// Of what a scheduler before this one has opened: all up to that, as somebody who was there
  /// says. Who waits there.
  std::set<NodeId> pass(std::uint64_t number);
  /// It waits there no longer. True if the barrier is complete already.
  bool withdraw(std::uint64_t number, NodeId node);
  /// An open barrier at which all are.
  struct Open {
    std::uint64_t number = 0;
    Purpose purpose = {};
    NodeId last = 0;  ///< Who came last; it may be gone.
  };
  /// Nobody else is waited for from now on, and nobody else has come. The barrier that is complete
  /// by that, if one is.
  std::optional<Open> expect(const std::set<NodeId>& nodes);
  /// What is wrong with who came to a mixed one: where others are for something else.
  Status mixed(const Purpose& purpose) const;
  /// `absent` will not come: whoever waits at an open barrier where it has not been waits there no
  /// longer. Returns them.
  std::set<NodeId> give_up(NodeId absent);

 private:
  static constexpr std::uint64_t kMostAhead = 1;  // A worker is in one barrier at a time.
  std::map<std::uint64_t, std::set<NodeId>> open_;
  NodeId last_ = 0;  // Who came last to any.
  Purpose purpose_;  // Of the open one; there is one at a time.
  std::uint64_t completed_ = 0;
};

}  // namespace stretto

// SPDX-License-Identifier: Apache-2.0
// ExitNotices: what a launcher tells of the members that it has started: that their processes have
// ended. A connection that ends looks the same if its process has died and if the network has
// forgotten it; who is told of deaths need not guess.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "common/descriptor.h"
#include "common/launch_protocol/exit_lines.h"
#include "common/launch_protocol/migration_lines.h"

namespace stretto {

/// Thread: loop.
class ExitNotices {
 public:
  /// `descriptor` stays its owner's; -1, and one that is no socket: nobody tells anything.
  explicit ExitNotices(int descriptor);

  /// Somebody tells of all ends: who has not been told of lives. As of the last take().
  bool told() const { return told_; }
  /// Members may join as long as their processes run. As of the last take().
  bool joins_unlimited() const { return joins_unlimited_; }
  /// Since the last call. Does not wait.
  std::vector<MemberExit> take();
  /// A checkpoint is wanted, as of the last take(): true once.
  bool take_wish() { return std::exchange(wishes_, false); }
  /// Those that could not be started, as of the last take(): once.
  std::vector<StartRefusal> take_refusals() { return std::exchange(refusals_, {}); }

 private:
  void read();

  Descriptor descriptor_;
  std::vector<StartRefusal> refusals_;
  std::string text_;  // Of a line that has not come to its end.
  bool told_ = false;
  bool joins_unlimited_ = false;
  bool wishes_ = false;
};

}  // namespace stretto

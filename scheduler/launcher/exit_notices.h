// SPDX-License-Identifier: Apache-2.0
// ExitNotices: a launcher's reports of the exits of processes it has started. A connection looks
// the same whether its peer died or the network failed; these reports tell the difference.
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
  /// `descriptor` stays its owner's; -1, or one that is no socket: no reports.
  explicit ExitNotices(int descriptor);

  /// A launcher reports all exits: other processes are alive. As of the last take().
  bool told() const { return told_; }
  /// Members may join as long as their processes run. As of the last take().
  bool joins_unlimited() const { return joins_unlimited_; }
  /// Reports since the last call. Does not block.
  std::vector<MemberExit> take();
  /// A checkpoint is requested, as of the last take(): true once.
  bool take_wish() { return std::exchange(wishes_, false); }
  /// Failed starts of processes, as of the last take(): returned once.
  std::vector<StartRefusal> take_refusals() { return std::exchange(refusals_, {}); }

 private:
  void read();

  Descriptor descriptor_;
  std::vector<StartRefusal> refusals_;
  std::string text_;  // Of an incomplete line.
  bool told_ = false;
  bool joins_unlimited_ = false;
  bool wishes_ = false;
};

}  // namespace stretto

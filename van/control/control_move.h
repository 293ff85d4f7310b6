// SPDX-License-Identifier: Apache-2.0
// Move: places of servers that are to be others'. A part of van/control/control.h.
#pragma once

#include <cstdint>
#include <string>

#include "stretto/status.h"
#include "stretto/types.h"

namespace stretto::control {

/// Server or tool to scheduler: another is to have that place. Back: why it cannot, or who has it.
/// Tool, with a cause: the process of `server`, which it has started, has ended.
/// A tool that starts servers itself hears first by which numbers it is to start them.
struct Move {
  static constexpr std::size_t kMostSettingsBytes = 16 * 1024;

  Rank server = 0;        ///< Who has the place; back: who has it now, or is to have it.
  std::string host = {};  ///< Where the other is to run; empty: wherever it can.
  Status why = {};
  /// Tool: so many places are to be those of servers that it starts. Back: one is to be started.
  std::uint32_t joining = 0;
  bool any = false;           ///< Of whichever servers; not of `server`.
  std::uint64_t machine = 0;  ///< Where they run (common/network/machine.h).
  /// Back: whose place it is. Of a tool whose scheduler was lost meanwhile, with `server`: by which
  /// number it has started the one that is to have the place; 0: it has started none.
  Rank other = 0;
  std::string settings = {};  ///< Back: what it is told, as common/config/job_variables.h has it.
};

}  // namespace stretto::control

// SPDX-License-Identifier: Apache-2.0
// Move: migration of server ranks. A part of van/control/control.h.
#pragma once

#include <cstdint>
#include <string>

#include "stretto/status.h"
#include "stretto/types.h"

namespace stretto::control {

/// Server or tool to scheduler: migrate that rank. Answer: the error, or the new primary. Tool,
/// with a cause: its process `server` has exited. A tool that starts servers first gets their ids.
struct Move {
  static constexpr std::size_t kMostSettingsBytes = 16 * 1024;

  Rank server = 0;        ///< The current primary; answer: the new or future primary.
  std::string host = {};  ///< Host of the new server; empty: any.
  Status why = {};
  /// Tool: number of ranks to migrate to servers that it starts. Answer: start a server.
  std::uint32_t joining = 0;
  bool any = false;           ///< Any ranks; `server` is ignored.
  std::uint64_t machine = 0;  ///< Machine of the new servers (common/network/machine.h).
  /// Answer: the primary to replace. Tool, to a restarted scheduler, with `server`: id of the
  /// replacement that it has started; 0: none.
  Rank other = 0;
  std::string settings = {};  ///< Answer: the new server's, see common/config/job_variables.h.
};

}  // namespace stretto::control

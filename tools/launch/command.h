// SPDX-License-Identifier: Apache-2.0
// The command of each process: its program, arguments and environment. Pure; what --dry-run shows
// is what a run would start.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tools/launch/environment.h"
#include "tools/launch/plan.h"

namespace stretto::launch {

/// The number under which the scheduler finds the descriptor to say `host:port` on.
inline constexpr int kReadyDescriptor = 3;

/// The programs of the three roles, each a path with a slash.
struct Programs {
  std::string scheduler;
  std::string server;
  std::string worker;
};

struct Command {
  std::string path;
  std::vector<std::string> arguments;  ///< The first is the program's own name.
  Variables given;                     ///< What the launcher sets.
  Variables environment;               ///< All of it: the caller's and what is given.
};

Command command_of(const Plan& plan, const Member& member, const Programs& programs,
                   const Rendezvous& rendezvous, const Variables& inherited);

/// `text` as a shell reads it back.
std::string shell_quoted(std::string_view text);

/// What --dry-run prints: a line for each process, fit for a shell but for the token, which is
/// masked, and for ports that only a run can know, which are 0.
std::string preview(const Plan& plan, const Programs& programs, const Variables& inherited);

}  // namespace stretto::launch

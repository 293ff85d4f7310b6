// SPDX-License-Identifier: Apache-2.0
// The command of each process: its program, arguments and environment. Pure; what --dry-run shows
// is what a run would start.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "stretto/status.h"
#include "tools/launch/plan/environment.h"
#include "tools/launch/plan/placement.h"
#include "tools/launch/plan/plan.h"

namespace stretto::launch {

/// The number under which the scheduler finds the descriptor to say `host:port` on.
inline constexpr int kReadyDescriptor = 3;

/// The programs of the three roles, each a path with a slash; elsewhere than here a worker's is a
/// name, which is looked for there. And the launcher, for agents.
struct Programs {
  std::string scheduler;
  std::string server;
  std::string worker;
  std::string launcher;
};

struct Command {
  std::string path;
  std::vector<std::string> arguments;  ///< The first is the program's own name.
  Variables given;                     ///< What the launcher sets.
  Variables environment;               ///< All of it: the caller's and what is given.
};

Command command_of(const Plan& plan, const JobMember& member, const Programs& programs,
                   const Rendezvous& rendezvous, const Seat& seat, const Variables& inherited);

/// What starts an agent at one of the sites that are not here, by ssh or srun; its stdin and stdout
/// are the agent's. Errors: InvalidArgument, for words of --starter that cannot be read.
Result<Command> carrier_of(const Plan& plan, const Placement& placement, std::size_t site,
                           const Programs& programs, const Variables& inherited);

/// The mpirun that starts an agent for each member of the job. Agents are told where to come by
/// variables (kLaunchAddresses, kLaunchSecret), which are set in its environment afterwards.
Result<Command> mpirun_of(const Plan& plan, const Placement& placement, const Programs& programs,
                          const Variables& inherited);

/// `text` as a shell reads it back.
std::string shell_quoted(std::string_view text);

/// The words of `text` as a shell reads them, without expansions. Errors: InvalidArgument for a
/// quote that is not closed.
Result<std::vector<std::string>> shell_words(std::string_view text);

/// What --dry-run prints: a line for each process, fit for a shell but for the token, which is
/// masked, and for addresses and ports that only a run can know, which are 0.
Result<std::string> preview(const Plan& plan, const Placement& placement, const Programs& programs,
                            const Variables& inherited);

}  // namespace stretto::launch

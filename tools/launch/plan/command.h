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

/// The descriptor on which the scheduler reports `host:port`.
inline constexpr int kReadyDescriptor = 3;

/// The programs of the three roles, and the launcher for agents; each is a path with a slash. On
/// another host a worker's may be a name, which that host searches.
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
  Variables environment;               ///< The caller's, and the given variables.
};

Command command_of(const Plan& plan, const JobMember& member, const Programs& programs,
                   const Rendezvous& rendezvous, const Seat& seat, const Variables& inherited);

/// The ssh or srun that starts an agent on another host; its stdin and stdout are the agent's.
/// Errors: InvalidArgument, for words of --starter that cannot be read.
Result<Command> carrier_of(const Plan& plan, const Placement& placement, std::size_t site,
                           const Programs& programs, const Variables& inherited);

/// The mpirun that starts an agent for each member of the job. The caller adds the variables by
/// which agents find the launcher (kLaunchAddresses, kLaunchSecret) to its environment.
Result<Command> mpirun_of(const Plan& plan, const Placement& placement, const Programs& programs,
                          const Variables& inherited);

/// `text`, quoted for a shell.
std::string shell_quoted(std::string_view text);

/// The words of `text` as a shell reads them, without expansions. Errors: InvalidArgument for a
/// quote that is not closed.
Result<std::vector<std::string>> shell_words(std::string_view text);

/// The text of --dry-run: a line for each process, which a shell can run. The token is masked, and
/// addresses and ports that only a run can know are 0.
Result<std::string> preview(const Plan& plan, const Placement& placement, const Programs& programs,
                            const Variables& inherited);

}  // namespace stretto::launch

// SPDX-License-Identifier: Apache-2.0
// ServerJoin: what was typed behind stretto-launch join HOST:PORT where servers are to join, and
// the variables that each of them gets. Pure.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "stretto/status.h"
#include "stretto/types.h"
#include "tools/launch/plan/environment.h"
#include "tools/trace/attach.h"

namespace stretto::launch {

struct ServerJoin {
  std::string scheduler;  ///< HOST:PORT.
  std::uint32_t count = 1;
  std::vector<Rank> places = {};       ///< --place; empty: the scheduler chooses.
  std::uint32_t port = 0;              ///< --port, as the job has it; 0: free ones.
  std::string program_directory = {};  ///< --bin-dir; empty: beside the launcher.
};

/// The words after "join" are about servers, and not about a worker's program: a flag is there.
bool wants_servers(std::span<const std::string> words);

/// Errors: InvalidArgument, with what was wanted and found.
Result<ServerJoin> servers_wish(std::span<const std::string> words);

/// Of one of them, which is to come as `server`; `told` is what the scheduler says of the job.
/// Errors: Mismatch, naming a variable that is set here to something else than the job has;
/// InvalidArgument, where its ports would be too high.
Result<Variables> variables_of_guest(const ServerJoin& wish, Rank server,
                                     const std::map<std::string, std::string>& told,
                                     const observe::Target& job, const Variables& inherited);

}  // namespace stretto::launch

// SPDX-License-Identifier: Apache-2.0
// ServerJoin: the command line of `stretto-launch join HOST:PORT` for servers, and the variables of
// each such server. Pure.
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

/// The words after "join" describe servers, not a worker's program: they contain a flag.
bool wants_servers(std::span<const std::string> words);

/// Errors: InvalidArgument, with wanted and found.
Result<ServerJoin> servers_wish(std::span<const std::string> words);

/// Variables of the server that joins as `server`; `told`: settings from the scheduler. Errors:
/// Mismatch, naming a variable whose value here differs from the job's; InvalidArgument if the
/// ports would be too high.
Result<Variables> variables_of_guest(const ServerJoin& wish, Rank server,
                                     const std::map<std::string, std::string>& told,
                                     const observe::Target& job, const Variables& inherited);

}  // namespace stretto::launch

// SPDX-License-Identifier: Apache-2.0
// Plan: what one launch is to do, once the command line has been read and checked. Everything that
// follows (environments, processes, supervision) is derived from it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/config.h"
#include "stretto/types.h"

namespace stretto::launch {

enum class Action : std::uint8_t { kRun, kDryRun, kCheck, kHelp, kVersion };

/// How long the launcher waits before its next, harder step.
struct Limits {
  Duration start = 60s;  ///< For the scheduler to say where it listens.
  Duration settle = 3s;  ///< After the first failure, for the others to end by themselves.
  Duration drain = 10s;  ///< After the last worker, for servers and scheduler to end.
  Duration grace = 20s;  ///< Between the notice to end and SIGKILL.
  Duration reap = 5s;    ///< After SIGKILL, for the kernel to let go.
};

struct Plan {
  Action action = Action::kRun;
  std::uint32_t workers = 1;
  std::uint32_t servers = 1;
  std::uint32_t shards = 1;          ///< Shards of each server.
  std::vector<std::string> command;  ///< What each worker runs: PROGRAM ARG...
  std::vector<std::pair<std::string, std::string>> added_environment;  ///< --env, in order.
  std::string log_directory;                                           ///< Empty: no log files.
  std::string program_directory;             ///< --bin-dir; empty: beside the launcher.
  std::optional<std::string> start_timeout;  ///< --start-timeout as given, in seconds.
  Limits limits;
};

/// One process of the job.
struct Member {
  Role role = Role::kWorker;
  Rank rank = 0;

  friend bool operator==(const Member&, const Member&) = default;
};

/// In starting order: the scheduler, the servers, the workers.
std::vector<Member> members_of(const Plan& plan);

/// "worker 3", "server 0", "scheduler": how lines of output and messages name a process.
std::string label_of(const Member& member);

}  // namespace stretto::launch

// SPDX-License-Identifier: Apache-2.0
// The launcher's requests to the operating system before it starts processes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "stretto/status.h"
#include "tools/launch/plan/command.h"
#include "tools/launch/plan/environment.h"
#include "tools/launch/plan/plan.h"

namespace stretto::launch {

/// The file of `name`: itself if it has a slash, else the first executable of that name in the
/// folders of `search_path`. Errors: InvalidArgument, with the name and why it cannot be executed.
Result<std::string> find_program(const std::string& name, const std::string& search_path);

/// The worker's program, searched as the worker itself would: --env may change its PATH.
Result<std::string> find_worker(const Plan& plan, const Variables& inherited);

/// The programs of `plan`, which has a command. Programs that run on this host must exist; other
/// hosts use the same folders, and search PROGRAM themselves.
Result<Programs> find_programs(const Plan& plan, const Placement& placement,
                               const Variables& inherited);

/// The folder of stretto-scheduler and stretto-server: --bin-dir, else STRETTO_BIN_DIR, else the
/// launcher's own; absolute.
Result<std::string> program_directory(const Plan& plan, const Variables& inherited);

/// Raises the soft limit on open files to the hard limit, at most a million. Returns the new limit.
std::uint64_t raise_descriptor_limit();

/// Descriptors that the launcher needs to supervise `plan`.
std::uint64_t descriptors_needed(const Plan& plan);

/// This host's own name.
std::string host_name();

/// This host's addresses as "eth0=192.0.2.7", of interfaces that are up: IPv4, then IPv6 without
/// link-local addresses, then loopback.
std::vector<std::string> interface_addresses();

/// True for loopback names, the host's own name and its addresses. Does not resolve names.
bool is_this_host(const std::string& name);

/// The same for the resolved address of a name, which may block for the resolver's timeout.
bool resolves_to_this_host(const std::string& name);

/// Ok, or Resource with the needed and the available number.
Status require_descriptors(const Plan& plan, std::uint64_t limit);

/// STRETTO_JOB_TOKEN if the caller has one, else 128 random bits in hexadecimal.
Result<std::string> job_token(const Variables& inherited);

/// The text of a list of hosts. Errors: InvalidArgument if it is unreadable, or exceeds 1 MiB.
Result<std::string> read_file(const std::string& path);

}  // namespace stretto::launch

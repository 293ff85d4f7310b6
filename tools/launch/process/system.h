// SPDX-License-Identifier: Apache-2.0
// What the launcher asks of the operating system before it starts anything.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "stretto/status.h"
#include "tools/launch/plan/command.h"
#include "tools/launch/plan/environment.h"
#include "tools/launch/plan/plan.h"

namespace stretto::launch {

/// The file that `name` means: itself if it has a slash, else the first executable of that name in
/// the folders of `search_path`. Errors: InvalidArgument, naming it and why it cannot be executed.
Result<std::string> find_program(const std::string& name, const std::string& search_path);

/// The worker's program, looked for as the worker itself would: --env may change its PATH.
Result<std::string> find_worker(const Plan& plan, const Variables& inherited);

/// Where `plan`, which has a command, finds its programs. Those that run here must be here; for
/// the others the same folders are taken, and PROGRAM is left to be looked for there.
Result<Programs> find_programs(const Plan& plan, const Placement& placement,
                               const Variables& inherited);

/// The folder of stretto-scheduler and stretto-server: --bin-dir, else STRETTO_BIN_DIR, else the
/// launcher's own; absolute.
Result<std::string> program_directory(const Plan& plan, const Variables& inherited);

/// Raises the soft limit on open files to the hard one, at most a million. Returns what holds then.
std::uint64_t raise_descriptor_limit();

/// Descriptors that the launcher needs to supervise `plan`.
std::uint64_t descriptors_needed(const Plan& plan);

/// What this host calls itself.
std::string host_name();

/// Its addresses as "eth0=192.0.2.7", of interfaces that are up: IPv4, then IPv6 but for link-local
/// ones, then loopback.
std::vector<std::string> interface_addresses();

/// True for loopback names, the host's own name and its addresses. Nothing is looked up.
bool is_this_host(const std::string& name);

/// The same for the address that a name has, which may take as long as the resolver likes.
bool resolves_to_this_host(const std::string& name);

/// Ok, or Resource that says need and have.
Status require_descriptors(const Plan& plan, std::uint64_t limit);

/// STRETTO_JOB_TOKEN if the caller has one, else 128 random bits in hexadecimal.
Result<std::string> job_token(const Variables& inherited);

/// Of a list of hosts. Errors: InvalidArgument if it cannot be read, or has more than 1 MiB.
Result<std::string> read_file(const std::string& path);

}  // namespace stretto::launch

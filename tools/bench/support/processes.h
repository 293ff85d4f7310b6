// SPDX-License-Identifier: Apache-2.0
// The kernel's data on processes: their roles and their resource use.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stretto/status.h"

namespace stretto::bench {

/// Children of the process's first thread.
std::vector<pid_t> children_of(pid_t process_id);

/// "worker 1", "scheduler": the role that stretto-launch gave the process; empty if it gave none,
/// or the process is another user's.
std::string role_of(pid_t process_id);

/// The children of `launcher` that are servers.
std::vector<pid_t> servers_of(pid_t launcher);

/// CPU time of a process so far, all threads, user and kernel; an error if it has ended.
Result<double> cpu_seconds_of(pid_t process_id);
/// The sum over some processes. Ended processes count as 0.
double cpu_seconds_of(std::span<const pid_t> process_ids);
/// CPU time of this process.
double cpu_seconds();

/// Time that all processors of this machine have spent on interrupts and softirqs, in ticks of
/// about 10 ms. The kernel sends and receives there, and charges no process.
double interrupt_seconds();

struct Footprint {
  std::uint64_t threads = 0;
  double rss_mb = 0;  ///< Resident memory in 1e6 bytes.
};
Result<Footprint> footprint_of(pid_t process_id);

/// This program's file.
Result<std::string> own_path();
/// Another program of ours: beside this one, or in STRETTO_BIN_DIR.
Result<std::string> program_path(const std::string& name);

}  // namespace stretto::bench

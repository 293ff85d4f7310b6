// SPDX-License-Identifier: Apache-2.0
// What the kernel tells of processes: who they are and what they have used.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stretto/status.h"

namespace stretto::bench {

/// Of the process's first thread.
std::vector<pid_t> children_of(pid_t process_id);

/// "worker 1", "scheduler": what stretto-launch told the process to be; empty if it told nothing,
/// or the process is another user's.
std::string role_of(pid_t process_id);

/// The children of `launcher` that are servers.
std::vector<pid_t> servers_of(pid_t launcher);

/// CPU time of a process so far, all threads, user and kernel; an error if it has ended.
Result<double> cpu_seconds_of(pid_t process_id);
/// The sum over some processes. Those that have ended count as nothing.
double cpu_seconds_of(std::span<const pid_t> process_ids);
/// Of this process.
double cpu_seconds();

/// Time that all processors of this machine have spent on interrupts, soft ones too, in ticks of
/// 10 ms or so: where the kernel sends and receives, and on nobody's account.
double interrupt_seconds();

struct Footprint {
  std::uint64_t threads = 0;
  double rss_mb = 0;  ///< Memory that is in RAM, in 1e6 bytes.
};
Result<Footprint> footprint_of(pid_t process_id);

/// This program's file.
Result<std::string> own_path();
/// Another program of ours: beside this one, or where STRETTO_BIN_DIR says.
Result<std::string> program_path(const std::string& name);

}  // namespace stretto::bench

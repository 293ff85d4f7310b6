// SPDX-License-Identifier: Apache-2.0
// Hosts and their slots, as mpirun's -H and --hostfile and BytePS's host files write them. Pure:
// the files' texts are handed in.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "stretto/status.h"

namespace stretto::launch {

struct HostSlots {
  std::string host;  ///< As it was written: a name, an address, or user@name for ssh.
  std::uint32_t slots = 1;

  friend bool operator==(const HostSlots&, const HostSlots&) = default;
};

/// "localhost:4,127.0.0.1": a host without slots has one.
Result<std::vector<HostSlots>> parse_host_list(std::string_view text);

/// Parses the file at `path`, a host per line: `host`, `host slots=4` or `host:4`. mpirun's
/// `max_slots=8` is ignored; '#' starts a comment. Errors name `path` and the line.
Result<std::vector<HostSlots>> parse_hostfile(std::string_view text, std::string_view path);

/// Parses a file with a process per line: `host` or `host:port`, as BytePS writes them; '#' starts
/// a comment.
Result<std::vector<HostSlots>> parse_process_hosts(std::string_view text, std::string_view path);

/// Merges repeated hosts in the order of first mention; their slots add up.
std::vector<HostSlots> merged(const std::vector<HostSlots>& hosts);

/// Sum of the slots.
std::uint64_t slots_of(const std::vector<HostSlots>& hosts);

}  // namespace stretto::launch

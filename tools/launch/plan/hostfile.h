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

/// The text of the file at `path`, a line each: `host`, `host slots=4` or `host:4`, with or without
/// mpirun's `max_slots=8`, which is left to it; '#' starts a comment. Errors name `path` and the
/// line.
Result<std::vector<HostSlots>> parse_hostfile(std::string_view text, std::string_view path);

/// The same of a file with a line each, one process each: `host` or `host:port`, as BytePS writes
/// them; '#' starts a comment.
Result<std::vector<HostSlots>> parse_process_hosts(std::string_view text, std::string_view path);

/// The same hosts, each once, with all the slots that it had, in the order of their first mention.
std::vector<HostSlots> merged(const std::vector<HostSlots>& hosts);

/// Sum of the slots.
std::uint64_t slots_of(const std::vector<HostSlots>& hosts);

}  // namespace stretto::launch

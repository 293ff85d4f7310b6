// SPDX-License-Identifier: Apache-2.0
// Where the shards of a server listen: at ports that the kernel chooses, or, where a firewall must
// know them, at fixed ones.
#pragma once

#include <cstdint>
#include <string>

#include "common/config/config.h"

namespace stretto {

/// STRETTO_SERVER_PORT: the first of all servers' ports; 0: none is fixed. kInvalidArgument if it
/// is no port.
Result<std::uint32_t> first_server_port(const Environment& environment);

/// host:port of a shard of this server. Fixed ports are counted on from the first by server, then
/// by shard; a server that has no rank yet counts as the first. kInvalidArgument if there is no
/// such port.
Result<std::string> shard_address(const Config& config, std::uint32_t first_port,
                                  std::uint32_t shard);

}  // namespace stretto

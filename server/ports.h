// SPDX-License-Identifier: Apache-2.0
// The listening ports of a server's shards: chosen by the kernel, or fixed where a firewall must
// know them.
#pragma once

#include <cstdint>
#include <string>

#include "common/config/config.h"

namespace stretto {

/// STRETTO_SERVER_PORT: the first port of the first server; 0: not fixed. kInvalidArgument for an
/// invalid port.
Result<std::uint32_t> first_server_port(const Environment& environment);

/// host:port of a shard of this server. Fixed ports are assigned consecutively by server, then by
/// shard; a server without a rank counts as the first. kInvalidArgument if there is no such port.
Result<std::string> shard_address(const Config& config, std::uint32_t first_port,
                                  std::uint32_t shard);

}  // namespace stretto

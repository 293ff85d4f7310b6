// SPDX-License-Identifier: Apache-2.0
// Consecutive ports of shards.
#include "server/ports.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>

namespace stretto {
namespace {

constexpr std::uint32_t kMostPort = 65535;

}  // namespace

Result<std::uint32_t> first_server_port(const Environment& environment) {
  const std::optional<std::string> text = environment("STRETTO_SERVER_PORT");
  if (!text) return std::uint32_t{0};
  std::uint32_t port = 0;
  const char* end = text->data() + text->size();
  const auto [stop, error] = std::from_chars(text->data(), end, port);
  if (error == std::errc() && stop == end && port <= kMostPort) return port;
  return Status(Code::kInvalidArgument,
                fmt::format("STRETTO_SERVER_PORT is '{}', wanted a whole number from 0 to {}",
                            *text, kMostPort));
}

Result<std::string> shard_address(const Config& config, std::uint32_t first_port,
                                  std::uint32_t shard) {
  if (first_port == 0) return HostPort{config.bind_host, 0}.text();
  const auto server = static_cast<std::uint64_t>(std::max<std::int64_t>(config.rank, 0));
  const std::uint64_t port = first_port + server * config.shards + shard;
  if (port <= kMostPort) {
    return HostPort{config.bind_host, static_cast<std::uint16_t>(port)}.text();
  }
  return Status(Code::kInvalidArgument,
                fmt::format("STRETTO_SERVER_PORT is {}: port {} for shard {} of server {} does not "
                            "exist; choose a lower one",
                            first_port, port, shard, server));
}

}  // namespace stretto

// SPDX-License-Identifier: Apache-2.0
// A job is identified by its secret or, without one, by its scheduler's address.
#include "van/host_window/host_options.h"

#include "common/network/network.h"
#include "van/host_window/host_registry_file.h"

namespace stretto::host {
namespace {

// FNV-1a. Only the seats' user sees the number, and can read the secret itself elsewhere.
std::uint64_t number_of(std::string_view text) {
  std::uint64_t number = 0xcbf29ce484222325;
  for (const char letter : text) {
    number = (number ^ static_cast<unsigned char>(letter)) * 0x100000001b3;
  }
  return number;
}

// Index of the interface; 0 if the scheduler's address does not resolve or has no route.
std::uint32_t interface_towards(const std::string& scheduler) {
  const Result<HostPort> address = parse_host_port(scheduler);
  if (!address.ok()) return 0;
  const Result<std::string> own = address_towards(address->host, address->port);
  return own.ok() ? interface_of(*own) : 0;
}

}  // namespace

// Where no other host is reachable, nothing leaves this host.
HostOptions host_options(const Config& config) {
  const bool none = config.host_policy == HostPolicy::kNone || config.scheduler.empty();
  if (none || config.transport == TransportChoice::kShm) return {};
  const Result<HostPort> scheduler = parse_host_port(config.scheduler);
  if (scheduler.ok() && is_loopback(scheduler->host)) return {};
  return {.policy = config.host_policy,
          .job = number_of(config.token.empty() ? config.scheduler : config.token),
          .path = seats_path(kSharedMemory, interface_towards(config.scheduler))};
}

}  // namespace stretto::host

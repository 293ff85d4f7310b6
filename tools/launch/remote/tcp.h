// SPDX-License-Identifier: Apache-2.0
// TCP between launchers and agents, and tests of whether hosts reach each other by it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/clock.h"
#include "common/descriptor.h"
#include "common/network/host_port.h"
#include "stretto/status.h"

namespace stretto::launch {

struct OpenPort {
  Descriptor socket;  ///< Listens, without blocking. The kernel completes handshakes.
  std::uint16_t port = 0;
};

/// Listens at a port of a numeric address; 0: a free port. Errors: Network.
Result<OpenPort> open_port(std::string_view host, std::uint16_t port);
/// The same at all addresses of this host, of IPv6 too where the kernel has it.
Result<OpenPort> open_port_to_all(std::uint16_t port);

/// A non-blocking connection with keep-alive, established within `patience`. Blocks its thread.
/// Errors: InvalidArgument for a host without an address, Network.
Result<Descriptor> connect_to(const HostPort& address, Duration patience, const Clock& clock);

/// Connects to each "host:port", one after another, within `patience` each. Returns the cause by
/// address; "": connected.
std::vector<std::string> try_to_reach(const std::vector<std::string>& addresses, Duration patience,
                                      const Clock& clock);

/// Enables keep-alive, which detects a switched-off host within about a minute.
void keep_alive(int descriptor);

/// The error of a failed call, from errno.
Status socket_error(std::string_view what);

}  // namespace stretto::launch

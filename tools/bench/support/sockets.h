// SPDX-License-Identifier: Apache-2.0
// Plain TCP sockets for the raw measurements.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "common/descriptor.h"
#include "stretto/status.h"

namespace stretto::bench {

/// A socket that listens at a free port of `host` (dotted), and the port.
Result<std::pair<Descriptor, std::uint32_t>> listen_at(const std::string& host);
/// Accepts the next connection. Disables Nagle's delay.
Result<Descriptor> accept_one(const Descriptor& listener);
/// Connects to "10.77.0.2:40123". Disables Nagle's delay.
Result<Descriptor> connect_to(const std::string& address);
/// "cubic", "bbr" and so on.
std::string congestion_control_of(const Descriptor& socket);

/// All of the bytes, or false; for blocking sockets.
bool read_all(int descriptor, std::span<std::byte> bytes);
bool write_all(int descriptor, std::span<const std::byte> bytes);

}  // namespace stretto::bench

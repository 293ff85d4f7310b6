// SPDX-License-Identifier: Apache-2.0
// Plain TCP sockets as the raw measurements use them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "stretto/status.h"
#include "tools/launch/descriptor.h"

namespace stretto::bench {

/// A socket that listens at a free port of `host` (in dotted form), and the port.
Result<std::pair<launch::Descriptor, std::uint32_t>> listen_at(const std::string& host);
/// The next one who connects. Small messages leave at once.
Result<launch::Descriptor> accept_one(const launch::Descriptor& listener);
/// Connects to "10.77.0.2:40123". Small messages leave at once.
Result<launch::Descriptor> connect_to(const std::string& address);
/// "cubic", "bbr" and so on.
std::string congestion_control_of(const launch::Descriptor& socket);

/// All of it, or false; for sockets that block.
bool read_all(int descriptor, std::span<std::byte> bytes);
bool write_all(int descriptor, std::span<const std::byte> bytes);

}  // namespace stretto::bench

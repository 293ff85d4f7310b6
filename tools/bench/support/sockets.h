// SPDX-License-Identifier: Apache-2.0
// Plain TCP sockets as the raw measurements use them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "common/descriptor.h"
#include "stretto/status.h"

namespace stretto::bench {

/// A socket that listens at a free port of `host` (in dotted form), and the port.
Result<std::pair<Descriptor, std::uint32_t>> listen_at(const std::string& host);
/// The next one who connects. Small messages leave at once.
Result<Descriptor> accept_one(const Descriptor& listener);
/// Connects to "10.77.0.2:40123". Small messages leave at once.
Result<Descriptor> connect_to(const std::string& address);
/// "cubic", "bbr" and so on.
std::string congestion_control_of(const Descriptor& socket);

/// All of it, or false; for sockets that block.
bool read_all(int descriptor, std::span<std::byte> bytes);
bool write_all(int descriptor, std::span<const std::byte> bytes);

}  // namespace stretto::bench

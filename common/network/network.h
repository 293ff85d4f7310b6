// SPDX-License-Identifier: Apache-2.0
// Properties of this host: addresses and limits.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "stretto/status.h"

namespace stretto {

/// The source address of this host's traffic to `host`, in digits without brackets; an error if
/// there is no route.
Result<std::string> address_towards(const std::string& host, std::uint16_t port);

/// The index of the interface with this address; 0: none.
std::uint32_t interface_of(const std::string& address);

/// host:port for peers: replaces 0.0.0.0 or :: by the first address of this host that others can
/// reach; for :: an IPv6 address if there is one.
std::string reachable_address(std::string_view address);

/// True if `address` (host or host:port) belongs to this host. Names other than localhost are not
/// resolved: that might take long.
bool is_own_host(std::string_view address);

/// Why host:port cannot be bound for TCP, by asking the system again, for a library that does not
/// report it. Never ok: if binding works now, the error states that.
Status listening_failure(const std::string& host, std::uint16_t port);

/// Raises the limit of open files to what the system allows; an error, with need and have, if that
/// is less than `needed`.
Status raise_file_limit(std::uint64_t needed);

}  // namespace stretto

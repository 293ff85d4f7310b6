// SPDX-License-Identifier: Apache-2.0
// Small facts about this host: addresses and limits.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "stretto/status.h"

namespace stretto {

/// The address of this host that its traffic to `host` carries, in digits without brackets; an
/// error if there is no route.
Result<std::string> address_towards(const std::string& host, std::uint16_t port);

/// The index of the interface that has this address; 0: none has.
std::uint32_t interface_of(const std::string& address);

/// host:port for others: instead of 0.0.0.0 or ::, every interface, the first address of this host
/// that others can reach; for :: one of IPv6 if there is one.
std::string reachable_address(std::string_view address);

/// True if `address` (host or host:port) is of this host. Names other than localhost are not looked
/// up: that might take long.
bool is_own_host(std::string_view address);

/// Why nobody can listen at host:port for TCP, asked again of the system on behalf of a library
/// that does not say. Never ok: if it could be done now, that is said.
Status listening_failure(const std::string& host, std::uint16_t port);

/// Raises the limit of open files to what the system allows; an error, with need and have, if that
/// is less than `needed`.
Status raise_file_limit(std::uint64_t needed);

}  // namespace stretto

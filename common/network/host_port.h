// SPDX-License-Identifier: Apache-2.0
// HostPort: an address as users and members write it: "host:port", and "[host]:port" for digits of
// IPv6.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "stretto/status.h"

namespace stretto {

/// `host` is a name or digits, without brackets.
struct HostPort {
  std::string host;
  std::uint16_t port = 0;

  /// As parse_host_port() reads it.
  std::string text() const;
};

/// Errors, with the text found: InvalidArgument if there is no host or no port, or if digits of
/// IPv6 have no brackets.
Result<HostPort> parse_host_port(std::string_view text);

/// The host without the brackets that it may have: "[::1]" and "::1" are the same.
std::string_view without_brackets(std::string_view host);

/// True for 127.0.0.0/8, ::1 and localhost, with brackets or without.
bool is_loopback(std::string_view host);

/// True for 0.0.0.0 and ::, with brackets or without: a program that binds it listens at all
/// addresses of its host.
bool is_any_address(std::string_view host);

}  // namespace stretto

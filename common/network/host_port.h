// SPDX-License-Identifier: Apache-2.0
// HostPort: an address as users and members write it: "host:port", or "[host]:port" for a numeric
// IPv6 host.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "stretto/status.h"

namespace stretto {

/// `host` is a name or a numeric address, without brackets.
struct HostPort {
  std::string host;
  std::uint16_t port = 0;

  /// The form that parse_host_port() reads.
  std::string text() const;
};

/// Errors: InvalidArgument, with the text, if host or port is missing, or if a numeric IPv6 host
/// has no brackets.
Result<HostPort> parse_host_port(std::string_view text);

/// `host` without brackets, if it has any: "[::1]" and "::1" give the same.
std::string_view without_brackets(std::string_view host);

/// True for 127.0.0.0/8, ::1 and localhost, with brackets or without.
bool is_loopback(std::string_view host);

/// True for 0.0.0.0 and ::, with brackets or without: a program that binds it listens at all
/// addresses of its host.
bool is_any_address(std::string_view host);

}  // namespace stretto

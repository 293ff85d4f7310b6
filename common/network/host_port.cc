// SPDX-License-Identifier: Apache-2.0
// The last colon separates host and port; colons before it are IPv6's and need brackets.
#include "common/network/host_port.h"

#include <fmt/core.h>

#include <charconv>

namespace stretto {
namespace {

bool is_in_brackets(std::string_view host) {
  return host.size() > 2 && host.front() == '[' && host.back() == ']';
}

Status no_address(std::string_view text) {
  return {Code::kInvalidArgument,
          fmt::format("'{}' is no address, wanted host:port, such as 127.0.0.1:9000 or [::1]:9000",
                      text)};
}

}  // namespace

std::string HostPort::text() const {
  const bool ipv6 = host.find(':') != std::string::npos;
  return ipv6 ? fmt::format("[{}]:{}", host, port) : fmt::format("{}:{}", host, port);
}

Result<HostPort> parse_host_port(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || colon == 0) return no_address(text);
  HostPort parsed;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data() + colon + 1, end, parsed.port);
  if (error != std::errc() || stop != end) return no_address(text);
  const std::string_view host = text.substr(0, colon);
  const bool bare = host.find_first_of("[]:") == std::string_view::npos;
  const bool bracketed = is_in_brackets(host) &&
                         without_brackets(host).find_first_of("[]") == std::string_view::npos &&
                         without_brackets(host).find(':') != std::string_view::npos;
  if (!bare && !bracketed) return no_address(text);
  parsed.host = without_brackets(host);
  return parsed;
}

std::string_view without_brackets(std::string_view host) {
  return is_in_brackets(host) ? host.substr(1, host.size() - 2) : host;
}

bool is_loopback(std::string_view host) {
  host = without_brackets(host);
  const bool numeric = host.find_first_not_of("0123456789.") == std::string_view::npos;
  return host == "localhost" || host == "::1" || (numeric && host.starts_with("127."));
}

bool is_any_address(std::string_view host) {
  host = without_brackets(host);
  return host == "0.0.0.0" || host == "::";
}

}  // namespace stretto

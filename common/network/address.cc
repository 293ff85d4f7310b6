// SPDX-License-Identifier: Apache-2.0
// Cutting at semicolons. Nothing of a way is understood here.
#include "common/network/address.h"

#include <fmt/core.h>

#include <algorithm>

#include "common/network/host_port.h"

namespace stretto {

std::string_view host_port_of(std::string_view address) {
  return address.substr(0, address.find(';'));
}

std::string_view way_in(std::string_view address, std::string_view way) {
  for (std::size_t at = address.find(';'); at != std::string_view::npos;) {
    const std::string_view rest = address.substr(at + 1);
    const std::string_view one = rest.substr(0, rest.find(';'));
    if (one.size() > way.size() && one.starts_with(way) && one[way.size()] == '=') {
      return one.substr(way.size() + 1);
    }
    at = address.find(';', at + 1);
  }
  return {};
}

std::string with_way(std::string_view address, std::string_view way, std::string_view where) {
  return fmt::format("{};{}={}", address, way, where);
}

Result<std::string> with_host(std::string_view address, std::string_view host) {
  const std::string_view host_port = host_port_of(address);
  const Result<HostPort> parts = parse_host_port(host_port);
  if (!parts.ok()) return parts.status();
  const HostPort moved{std::string(without_brackets(host)), parts->port};
  return moved.text() + std::string(address.substr(host_port.size()));
}

Status check_address(std::string_view address) {
  const bool printable =
      std::ranges::all_of(address, [](char one) { return one >= ' ' && one <= '~'; });
  if (address.size() > kMaxAddressLength || !printable) {
    return {Code::kInvalidArgument,
            fmt::format("an address of {} bytes came, wanted host:port and ways to it, {} letters "
                        "at most",
                        address.size(), kMaxAddressLength)};
  }
  return parse_host_port(host_port_of(address)).status();
}

}  // namespace stretto

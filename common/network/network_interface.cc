// SPDX-License-Identifier: Apache-2.0
// From an address to an interface by the system's routes, and to its rate by sysfs.
#include "common/network/network_interface.h"

#include <fmt/core.h>
#include <net/if.h>

#include <algorithm>
#include <charconv>
#include <fstream>

#include "common/network/network.h"
#include "common/network/socket_address.h"

namespace stretto {

NetworkInterface interface_towards(std::string_view address) {
  const Result<HostPort> place = parse_host_port(address);
  if (!place.ok() || !SocketAddress::from_digits(place->host, place->port)) return {};
  const Result<std::string> own = address_towards(place->host, place->port);
  char name[IF_NAMESIZE] = {};
  if (!own.ok() || if_indextoname(interface_of(*own), name) == nullptr) return {};
  std::ifstream speed(fmt::format("/sys/class/net/{}/speed", name));
  std::string text;
  std::getline(speed, text);  // Of an interface that has none this fails.
  return {.name = name, .mbit_s = rate_in(text)};
}

std::uint32_t rate_in(std::string_view text) {
  std::int64_t rate = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), rate);
  const bool known = read.ec == std::errc() && rate > 0 && rate <= UINT32_MAX;
  return known ? static_cast<std::uint32_t>(rate) : 0;  // -1: the cable is not there.
}

std::string slower_control(const NetworkInterface& control,
                           std::span<const NetworkInterface> data) {
  if (control.mbit_s == 0 || data.empty()) return {};
  const NetworkInterface& fastest = *std::ranges::max_element(data, {}, &NetworkInterface::mbit_s);
  if (fastest.mbit_s <= control.mbit_s) return {};
  return fmt::format(
      "what goes to the scheduler goes by interface {} ({} Mbit/s), data by {} ({} Mbit/s): start "
      "the job with --interface {}, or STRETTO_INTERFACE on the launching host, so that both go by "
      "that",
      control.name, control.mbit_s, fastest.name, fastest.mbit_s, fastest.name);
}

}  // namespace stretto

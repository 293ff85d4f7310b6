// SPDX-License-Identifier: Apache-2.0
// NetworkInterface: the interface by which traffic leaves this host, and its rate.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace stretto {

struct NetworkInterface {
  std::string name;          ///< Empty: not known.
  std::uint32_t mbit_s = 0;  ///< Link rate that the system reports, in Mbit/s; 0: unknown.

  friend bool operator==(const NetworkInterface&, const NetworkInterface&) = default;
};

/// The interface towards a host:port with a numeric host. A host name gives an unknown interface,
/// since name resolution may be slow.
NetworkInterface interface_towards(std::string_view address);

/// The rate in the text of /sys/class/net/INTERFACE/speed; 0: none.
std::uint32_t rate_in(std::string_view text);

/// A warning if traffic to the scheduler uses a slower interface than the fastest data interface;
/// empty: no problem, or a rate is unknown.
std::string slower_control(const NetworkInterface& control, std::span<const NetworkInterface> data);

}  // namespace stretto

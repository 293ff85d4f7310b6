// SPDX-License-Identifier: Apache-2.0
// NetworkInterface: by which one of this host its traffic leaves, and how fast that is.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace stretto {

struct NetworkInterface {
  std::string name;          ///< Empty: not known.
  std::uint32_t mbit_s = 0;  ///< What the system says that it can do, in Mbit/s; 0: it does not.

  friend bool operator==(const NetworkInterface&, const NetworkInterface&) = default;
};

/// That towards a host:port whose host is a number; else one that is not known, since to look a
/// name up might take long.
NetworkInterface interface_towards(std::string_view address);

/// The rate in what /sys/class/net/INTERFACE/speed says; 0: it says none.
std::uint32_t rate_in(std::string_view text);

/// What is wrong, in words, if what goes to the scheduler goes by a slower interface than the
/// fastest of those by which data goes; empty: nothing, or rates are not known.
std::string slower_control(const NetworkInterface& control, std::span<const NetworkInterface> data);

}  // namespace stretto

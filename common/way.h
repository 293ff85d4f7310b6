// SPDX-License-Identifier: Apache-2.0
// Ways: by which interface of this host its traffic leaves, and how fast that is.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace stretto {

struct Way {
  std::string interface;     ///< Its name; empty: not known.
  std::uint32_t mbit_s = 0;  ///< What the system says that it can do, in Mbit/s; 0: it does not.

  friend bool operator==(const Way&, const Way&) = default;
};

/// The way towards a host:port whose host is a number; else one that is not known, since to look a
/// name up might take long.
Way way_towards(std::string_view address);

/// The rate in what /sys/class/net/INTERFACE/speed says; 0: it says none.
std::uint32_t rate_in(std::string_view text);

/// What is wrong, in words, if what goes to the scheduler goes by a slower interface than the
/// fastest of those by which data goes; empty: nothing, or rates are not known.
std::string slower_control(const Way& control, std::span<const Way> data);

}  // namespace stretto

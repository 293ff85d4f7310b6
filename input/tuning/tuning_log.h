// SPDX-License-Identifier: Apache-2.0
// Trial: a line of the tuner's diary: what it tried or decided, what it saw, and why. For people:
// as text, and as CSV for plots.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "input/knobs.h"

namespace stretto::input {

enum class Action : std::uint8_t {
  kFirst,    ///< Measured because it was in force.
  kClimb,    ///< Measured because it could be faster.
  kShrink,   ///< Measured because it could be as fast with less in flight.
  kExplore,  ///< Measured after a long time, to see whether something has changed unseen.
  kChoose,   ///< Kept from now on.
  kDrift,    ///< The device or the consumer has changed; a search begins.
  kCap       ///< Somebody else limits what may be in flight.
};

std::string_view name_of(Action action);

struct Trial {
  Time at{};
  Action action = Action::kFirst;
  Knobs knobs{};
  std::uint32_t windows = 0;  ///< That the figures are of.
  double bytes_per_second = 0;
  double noise = 0;  ///< Relative standard error of the rate.
  Duration mean_latency{};
  Duration p95_latency{};
  double stall = 0;  ///< Share of the time in which the consumer waited.
  std::string reason;
};

/// "climb   q=32 b=256 KiB  812.3 MB/s +-0.4 %  p95 4.1 ms: depth x 4: better".
std::string describe(const Trial& trial);
/// With a line of names above; times in seconds since the first trial.
std::string to_csv(std::span<const Trial> trials);

}  // namespace stretto::input

// SPDX-License-Identifier: Apache-2.0
// Trial: a line of the tuner's log: an attempt or decision, its measurements, and the reason. As
// text for users, and as CSV for plots.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "input/knobs.h"

namespace stretto::input {

enum class Action : std::uint8_t {
  kFirst,    ///< Measured because it was the initial setting.
  kClimb,    ///< Measured because it could be faster.
  kShrink,   ///< Measured because it could be as fast with less in flight.
  kExplore,  ///< Measured after a long time, to detect unnoticed changes.
  kChoose,   ///< Kept from now on.
  kDrift,    ///< The device or the consumer has changed; a search starts.
  kCap       ///< The scheduler limits the bytes in flight.
};

std::string_view name_of(Action action);

struct Trial {
  Time at{};
  Action action = Action::kFirst;
  Knobs knobs{};
  std::uint32_t windows = 0;  ///< Windows behind the figures.
  double bytes_per_second = 0;
  double noise = 0;  ///< Relative standard error of the rate.
  Duration mean_latency{};
  Duration p95_latency{};
  double stall = 0;  ///< Fraction of the time that the consumer waited.
  std::string reason;
};

/// "climb   q=32 b=256 KiB  812.3 MB/s +-0.4 %  p95 4.1 ms: depth x 4: better".
std::string describe(const Trial& trial);
/// With a header line; times in seconds since the first trial.
std::string to_csv(std::span<const Trial> trials);

}  // namespace stretto::input

// SPDX-License-Identifier: Apache-2.0
// Values of flags, read from their text. Pure. Each function returns InvalidArgument, which names
// the flag, what it wanted and what it found; the result is unchanged then.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "stretto/status.h"
#include "stretto/types.h"

namespace stretto::launch {

/// The limit of workers of a job, and of hosts of a job.
inline constexpr std::uint32_t kMaxWorkers = 4096;

/// A whole number from `least` to `most`.
Status read_number(std::string_view flag, std::string_view text, std::uint32_t most,
                   std::uint32_t& value, std::uint32_t least = 1);

/// Seconds from `least` to a day.
Status read_seconds(std::string_view flag, std::string_view text, double least, Duration& value);

/// "auto", which becomes zero, or a time such as 30, 30s, 10m or 2h.
Status read_time(std::string_view flag, std::string_view text, std::optional<Duration>& value);

/// "N", where `least` becomes 0, or "MIN:MAX"; numbers from 1 to `limit`.
Status read_range(std::string_view flag, std::string_view text, std::uint32_t limit,
                  std::uint32_t& least, std::uint32_t& most);

}  // namespace stretto::launch

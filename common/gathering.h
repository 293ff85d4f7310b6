// SPDX-License-Identifier: Apache-2.0
// How far a job has come together, in the words by which its scheduler tells its launcher: a line
// each, after the line that says where it listens.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace stretto {

enum class Gathering : std::uint8_t {
  kUnawaited,  ///< Nobody would mind if it never came together: no worker has come.
  kAwaited,    ///< Some worker has come, and waits for others.
  kComplete    ///< All are here. That is so from then on.
};

inline constexpr std::string_view kGatheringLines[] = {"no worker waits", "workers wait",
                                                       "all are here"};

constexpr std::string_view line_of(Gathering gathering) {
  return kGatheringLines[static_cast<std::size_t>(gathering)];
}

/// None: those are no words of a scheduler's.
constexpr std::optional<Gathering> gathering_named(std::string_view line) {
  for (const Gathering one : {Gathering::kUnawaited, Gathering::kAwaited, Gathering::kComplete}) {
    if (line == line_of(one)) return one;
  }
  return std::nullopt;
}

}  // namespace stretto

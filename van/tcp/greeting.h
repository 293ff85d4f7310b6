// SPDX-License-Identifier: Apache-2.0
// The greeting: the first bytes that both ends of a TCP connection send. It names the protocol, its
// version, and which end connected. docs/TRANSPORTS.md has the layout.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace stretto::tcp {

inline constexpr std::size_t kGreetingBytes = 16;
/// The version of the framing (frame_format.h).
inline constexpr std::uint16_t kFramingVersion = 1;

/// Which end of a connection sends a greeting.
enum class Side : std::uint8_t { kConnector = 1, kListener = 2 };

/// The greeting that an end of this side sends.
std::array<std::byte, kGreetingBytes> greeting_of(Side side);

enum class GreetingCheck : std::uint8_t {
  kIncomplete,    ///< The bytes may be the start of a greeting.
  kGood,          ///< The bytes begin with a greeting of the expected side.
  kOtherVersion,  ///< A Stretto node of another version of the framing.
  kZeroMq,        ///< A greeting of ZMTP, ZeroMQ's protocol.
  kForeign        ///< Any other bytes.
};

/// Checks the first bytes sent by an end of this side. It decides as early as the bytes allow.
GreetingCheck check_greeting(std::span<const std::byte> bytes, Side side);

}  // namespace stretto::tcp

// SPDX-License-Identifier: Apache-2.0
// The greeting: what both ends of a TCP connection send first. It names the protocol, its version,
// and which end connected. docs/TRANSPORTS.md has the layout.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace stretto::tcp {

inline constexpr std::size_t kGreetingBytes = 16;
/// Of the framing (frame_format.h).
inline constexpr std::uint16_t kFramingVersion = 1;

/// Which end of a connection sends a greeting.
enum class Side : std::uint8_t { kConnector = 1, kListener = 2 };

/// Our greeting, sent by the end of this side.
std::array<std::byte, kGreetingBytes> greeting_of(Side side);

enum class GreetingCheck : std::uint8_t {
  kIncomplete,    ///< What has come may begin a greeting.
  kGood,          ///< The bytes begin with a greeting of the wanted side.
  kOtherVersion,  ///< A Stretto node of another version of the framing.
  kZeroMq,        ///< A greeting of ZMTP, ZeroMQ's protocol.
  kForeign        ///< Anything else.
};

/// Judges the first bytes that an end of this side sent. It needs no more bytes than decide.
GreetingCheck check_greeting(std::span<const std::byte> bytes, Side side);

}  // namespace stretto::tcp

// SPDX-License-Identifier: Apache-2.0
// ZMTP 3.0 as far as we speak it: what both ends say first, and the heads of frames.
// https://rfc.zeromq.org/spec/23/ is the source; curve.h has what follows where links are
// encrypted. Who connects is a DEALER, who listens a ROUTER.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace stretto::tcp {

inline constexpr std::size_t kGreetingBytes = 64;
/// Flags and a size of 8 bytes.
inline constexpr std::size_t kMostHeadBytes = 9;
/// Longest READY that is listened to.
inline constexpr std::size_t kMostReadyBytes = 512;

/// How ends make sure of one another, and whether what they say is encrypted.
enum class Mechanism : std::uint8_t { kNull, kCurve, kOther };

/// Ours: version 3.0. `listens` matters to CURVE.
std::array<std::byte, kGreetingBytes> our_greeting(Mechanism mechanism = Mechanism::kNull,
                                                   bool listens = false);
/// What a greeting of version 3 or later wants; none if it is no such greeting.
std::optional<Mechanism> mechanism_of(std::span<const std::byte, kGreetingBytes> bytes);
inline constexpr std::string_view kDealer = "DEALER";
inline constexpr std::string_view kRouter = "ROUTER";
/// Our READY, as a socket of this type, with its head.
std::vector<std::byte> our_ready(std::string_view type);
/// True if the body of a command is a READY of a socket of this type.
bool is_ready(std::span<const std::byte> body, std::string_view type);
/// What a READY says of a socket of this type.
std::vector<std::byte> our_metadata(std::string_view type);
/// True if that is of a socket of this type.
bool is_metadata(std::span<const std::byte> metadata, std::string_view type);
/// Heads of so many bytes: of a command, and of the last part of a message.
std::vector<std::byte> command_head(std::size_t size);
std::vector<std::byte> message_head(std::size_t size);
/// A message of one empty part, with its head: what who connects says first of all.
std::array<std::byte, 2> our_hello();

/// What comes before each part of a message, and before a command.
struct Head {
  bool more = false;
  bool command = false;
  std::uint64_t size = 0;  ///< Of what follows.
  std::size_t length = 0;  ///< Of the head itself.
  bool malformed = false;  ///< Its flags are none of ZMTP's.
};
/// The head at the start of `bytes`; none if there is more of it to come.
std::optional<Head> read_head(std::span<const std::byte> bytes);
/// Writes the head of a part of a message; its length.
std::size_t write_head(std::span<std::byte, kMostHeadBytes> at, std::uint64_t size, bool more);

}  // namespace stretto::tcp

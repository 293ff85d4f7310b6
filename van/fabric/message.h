// SPDX-License-Identifier: Apache-2.0
// What one endpoint says to another over the fabric: a prefix of 64 bytes, and for a frame its
// header after it, and for a small frame its payload after that. All of it is bytes from outside.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "van/wire/header.h"

namespace stretto::fabric {

inline constexpr std::uint32_t kMagic = 0x46525453;  // "STRF", read as little-endian bytes.

enum class MessageKind : std::uint32_t {
  kFrame = 1,     ///< Prefix, header, payload.
  kAnnounce = 2,  ///< Prefix, header; the payload waits in the sender's memory.
  kNote = 3,      ///< Prefix alone, as a tagged message: says how many frames have been taken.
};

struct Prefix {
  std::uint32_t magic = kMagic;
  MessageKind kind = MessageKind::kNote;
  std::uint32_t link = 0;  ///< As the receiver numbers it,
  std::uint32_t reserved = 0;
  std::uint64_t secret = 0;    ///< and what only the far end of that link has been told.
  std::uint64_t sequence = 0;  ///< n-th frame on this link, from 1.
  std::uint64_t taken = 0;     ///< Frames of the other direction that have been delivered so far.
  std::uint64_t bytes = 0;     ///< Of the payload.
  std::uint64_t key = 0;       ///< kAnnounce: where the payload is.
  std::uint64_t address = 0;
};

inline constexpr std::size_t kPrefixBytes = 64;
inline constexpr std::size_t kHeadBytes = kPrefixBytes + wire::kHeaderBytes;
/// The longest message. What fits is copied rather than fetched: a fetch costs a round trip.
inline constexpr std::size_t kSlotBytes = 4096;
inline constexpr std::size_t kMaxInlineBytes = kSlotBytes - kHeadBytes;
static_assert(sizeof(Prefix) == kPrefixBytes && offsetof(Prefix, secret) == 16);
static_assert(offsetof(Prefix, bytes) == 40 && offsetof(Prefix, address) == 56);

using PrefixBytes = std::array<std::byte, kPrefixBytes>;
inline PrefixBytes encode(const Prefix& prefix) { return std::bit_cast<PrefixBytes>(prefix); }

/// The prefix of `message`; nothing if it is too short or not ours at all.
std::optional<Prefix> decode_prefix(std::span<const std::byte> message);
/// True if a message of `message_bytes` in all can be what its prefix says: the kind is known, and
/// the payload is within `max_payload_bytes` and of a size that travels in this way.
bool fits(const Prefix& prefix, std::size_t message_bytes, std::size_t max_payload_bytes);

}  // namespace stretto::fabric

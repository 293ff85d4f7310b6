// SPDX-License-Identifier: Apache-2.0
// The messages between endpoints over the fabric: a prefix of 64 bytes, for a frame its header, and
// for a small frame its payload. All of it is untrusted.
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
  kNote = 3,      ///< Prefix alone, as a tagged message: the number of frames taken.
};

struct Prefix {
  std::uint32_t magic = kMagic;
  MessageKind kind = MessageKind::kNote;
  std::uint32_t link = 0;  ///< The receiver's id of it,
  std::uint32_t reserved = 0;
  std::uint64_t secret = 0;    ///< and the secret that only the link's peer received.
  std::uint64_t sequence = 0;  ///< The n-th frame on this link, from 1.
  std::uint64_t taken = 0;     ///< Frames of the other direction delivered so far.
  std::uint64_t bytes = 0;     ///< Of the payload.
  std::uint64_t key = 0;       ///< kAnnounce: where the payload is.
  std::uint64_t address = 0;
};

inline constexpr std::size_t kPrefixBytes = 64;
inline constexpr std::size_t kHeadBytes = kPrefixBytes + wire::kHeaderBytes;
/// The longest message. Payloads that fit are copied, not fetched: a fetch costs a round trip.
inline constexpr std::size_t kSlotBytes = 4096;
inline constexpr std::size_t kMaxInlineBytes = kSlotBytes - kHeadBytes;
static_assert(sizeof(Prefix) == kPrefixBytes && offsetof(Prefix, secret) == 16);
static_assert(offsetof(Prefix, bytes) == 40 && offsetof(Prefix, address) == 56);

using PrefixBytes = std::array<std::byte, kPrefixBytes>;
inline PrefixBytes encode(const Prefix& prefix) { return std::bit_cast<PrefixBytes>(prefix); }

/// The prefix of `message`; none if it is too short or not ours.
std::optional<Prefix> decode_prefix(std::span<const std::byte> message);
/// True if a message of `message_bytes` in all matches its prefix: the kind is known, and the
/// payload is within `max_payload_bytes` and of a size for this kind.
bool fits(const Prefix& prefix, std::size_t message_bytes, std::size_t max_payload_bytes);

}  // namespace stretto::fabric

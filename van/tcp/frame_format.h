// SPDX-License-Identifier: Apache-2.0
// Messages on a TCP connection, after the greeting: a head of 8 bytes, the headers of one frame or
// of a batch, then their payloads. docs/TRANSPORTS.md has the layout.
//
//   | frames: 4 | bytes after the headers: 4 | frames x 128 of headers | payloads |
//
// Numbers are little-endian. The payloads of a batch begin with the length of each, 4 bytes each.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

#include "van/wire.h"

namespace stretto::tcp {

/// Smaller payloads travel with others (batch.h), and are copied out of the memory that they were
/// received into.
inline constexpr std::size_t kLeastTaken = 8192;

/// Frames of one message, at most, and bytes of its payloads with their lengths.
inline constexpr std::size_t kMostBatched = 256;
inline constexpr std::size_t kMostBatchBytes = 64 << 10;
inline constexpr std::size_t kMostBatchPart =
    kMostBatchBytes + kLeastTaken + kMostBatched * sizeof(std::uint32_t);

/// What a message begins with.
struct MessageHead {
  std::uint32_t frames = 0;
  std::uint32_t payload_bytes = 0;  ///< Of all that follows the headers.

  std::size_t headers_bytes() const { return frames * wire::kHeaderBytes; }
};
inline constexpr std::size_t kHeadBytes = sizeof(MessageHead);
static_assert(kHeadBytes == 8);

/// The head at the start of `bytes`; none if more of it must come.
inline std::optional<MessageHead> read_head(std::span<const std::byte> bytes) {
  if (bytes.size() < kHeadBytes) return std::nullopt;
  MessageHead head;
  std::memcpy(&head, bytes.data(), kHeadBytes);
  return head;
}
inline void write_head(std::span<std::byte> at, const MessageHead& head) {
  std::memcpy(at.first(kHeadBytes).data(), &head, kHeadBytes);
}
/// True if what this head announces is within the limits, so that memory may be taken for it.
inline bool is_within_limits(const MessageHead& head, std::size_t max_payload_bytes) {
  if (head.frames == 0 || head.frames > kMostBatched) return false;
  return head.payload_bytes <= (head.frames == 1 ? max_payload_bytes : kMostBatchPart);
}

// Of the lengths at the start of a batch's payloads.
inline constexpr std::size_t kLengthBytes = sizeof(std::uint32_t);
inline std::size_t length_in(std::span<const std::byte> payloads, std::size_t index) {
  std::uint32_t length = 0;
  std::memcpy(&length, payloads.data() + index * kLengthBytes, kLengthBytes);
  return length;
}

/// True if headers and payloads of a message are one frame, or a batch, with no payload larger than
/// this.
bool fits(std::span<const std::byte> headers, std::span<const std::byte> payloads,
          std::size_t max_payload_bytes);

}  // namespace stretto::tcp

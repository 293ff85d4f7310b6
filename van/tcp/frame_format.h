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

#include "van/transport/frame_batch.h"

namespace stretto::tcp {

/// The start of a message.
struct MessageHead {
  std::uint32_t frames = 0;
  std::uint32_t payload_bytes = 0;  ///< The bytes after the headers.

  std::size_t headers_bytes() const { return frames * wire::kHeaderBytes; }
};
inline constexpr std::size_t kHeadBytes = sizeof(MessageHead);
static_assert(kHeadBytes == 8);

/// The head at the start of `bytes`; none if it is incomplete.
inline std::optional<MessageHead> read_head(std::span<const std::byte> bytes) {
  if (bytes.size() < kHeadBytes) return std::nullopt;
  MessageHead head;
  std::memcpy(&head, bytes.data(), kHeadBytes);
  return head;
}
inline void write_head(std::span<std::byte> at, const MessageHead& head) {
  std::memcpy(at.first(kHeadBytes).data(), &head, kHeadBytes);
}
/// True if the announced message is within the limits, so that memory may be allocated.
inline bool is_within_limits(const MessageHead& head, std::size_t max_payload_bytes) {
  if (head.frames == 0 || head.frames > kMostBatched) return false;
  return head.payload_bytes <= (head.frames == 1 ? max_payload_bytes : kMostBatchPart);
}

}  // namespace stretto::tcp

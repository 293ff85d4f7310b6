// SPDX-License-Identifier: Apache-2.0
// Checks of received messages.
#include "van/fabric/message.h"

#include <cstring>

namespace stretto::fabric {

std::optional<Prefix> decode_prefix(std::span<const std::byte> message) {
  if (message.size() < kPrefixBytes) return std::nullopt;
  PrefixBytes bytes;
  std::memcpy(bytes.data(), message.data(), bytes.size());
  const auto prefix = std::bit_cast<Prefix>(bytes);
  if (prefix.magic != kMagic) return std::nullopt;
  return prefix;
}

bool fits(const Prefix& prefix, std::size_t message_bytes, std::size_t max_payload_bytes) {
  if (prefix.bytes > max_payload_bytes) return false;
  switch (prefix.kind) {
    case MessageKind::kFrame:
      return prefix.bytes <= kMaxInlineBytes && message_bytes == kHeadBytes + prefix.bytes;
    case MessageKind::kAnnounce:
      return prefix.bytes > kMaxInlineBytes && message_bytes == kHeadBytes;
    case MessageKind::kNote:
      return prefix.bytes == 0 && message_bytes == kPrefixBytes;
  }
  return false;
}

}  // namespace stretto::fabric

// SPDX-License-Identifier: Apache-2.0
// Computes and compares a frame's checksum.
#include "van/wire/frame_checksum.h"

#include <fmt/core.h>

#include <cstring>

#include "common/memory/crc32c.h"

namespace stretto::wire {
namespace {

template <typename T>
T field(HeaderView bytes, std::size_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

std::uint32_t checksum(HeaderView bytes, std::span<const std::byte> payload) {
  HeaderBytes copy;
  std::memcpy(copy.data(), bytes.data(), bytes.size());
  std::memset(copy.data() + offsetof(Header, checksum), 0, sizeof(Header::checksum));
  return crc32c(payload, crc32c(copy));
}

}  // namespace

void add_checksum(Header& header, std::span<const std::byte> payload) {
  header.flags = static_cast<std::uint16_t>(header.flags | kChecksummed);
  header.checksum = 0;
  header.checksum = crc32c(payload, crc32c(encode(header)));
}

bool has_checksum(HeaderView bytes) {
  return (field<std::uint16_t>(bytes, offsetof(Header, flags)) & kChecksummed) != 0;
}

Status verify_checksum(HeaderView bytes, std::span<const std::byte> payload, bool wanted) {
  if (!has_checksum(bytes)) {
    if (!wanted) return {};
    return {Code::kLinkBroken,
            "a frame came corrupted: without the checksum that those before it "
            "had"};
  }
  const auto told = field<std::uint32_t>(bytes, offsetof(Header, checksum));
  const std::uint32_t found = checksum(bytes, payload);
  if (told == found) return {};
  return {Code::kLinkBroken,
          fmt::format("a frame of {} bytes came corrupted: it left with checksum {:#010x} and has "
                      "{:#010x}",
                      payload.size(), told, found)};
}

}  // namespace stretto::wire

// SPDX-License-Identifier: Apache-2.0
// CRC32C by libisal, at the speed of memory. It counts in int, so long inputs go in pieces.
#include <isa-l/crc.h>

#include <algorithm>

#include "common/crc32c.h"

namespace stretto {

std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t so_far) {
  constexpr std::size_t kPiece = std::size_t{1} << 30;
  std::uint32_t crc = ~so_far;
  while (!bytes.empty()) {
    const auto piece = bytes.first(std::min(bytes.size(), kPiece));
    // The library's parameter lacks a const.
    auto* start = reinterpret_cast<unsigned char*>(const_cast<std::byte*>(piece.data()));
    crc = crc32_iscsi(start, static_cast<int>(piece.size()), crc);
    bytes = bytes.subspan(piece.size());
  }
  return ~crc;
}

bool crc32c_is_fast() { return true; }

}  // namespace stretto

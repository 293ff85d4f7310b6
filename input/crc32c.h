// SPDX-License-Identifier: Apache-2.0
// CRC32C (Castagnoli, RFC 3720 B.4), which TFRecord files have, and the mask that they put over it.
// By libisal where that is there (isal.cc), else by a table (no_isal.cc).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace stretto::input {

std::uint32_t crc32c(std::span<const std::byte> bytes);

/// As TFRecord stores it: a CRC over bytes that contain CRCs is weak, so it is turned and shifted.
constexpr std::uint32_t masked(std::uint32_t crc) {
  return ((crc >> 15) | (crc << 17)) + 0xa282ead8U;
}

}  // namespace stretto::input

// SPDX-License-Identifier: Apache-2.0
// CRC32C (Castagnoli, RFC 3720 B.4), for frames between hosts and TFRecord files. Uses libisal if
// available (crc32c_isal.cc), otherwise a table (crc32c_table.cc).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace stretto {

/// CRC of `bytes`; `so_far`: the CRC of preceding bytes. Thread: any.
std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t so_far = 0);

/// True if it runs at memory speed: with libisal.
bool crc32c_is_fast();

}  // namespace stretto

// SPDX-License-Identifier: Apache-2.0
// CRC32C (Castagnoli, RFC 3720 B.4), which frames between hosts and TFRecord files have. By libisal
// where that is there (crc32c_isal.cc), else by a table (crc32c_table.cc).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace stretto {

/// Of `bytes`; with `so_far`, of those that it is the CRC of, and these behind them. Thread: any.
std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t so_far = 0);

/// True if it runs at the speed of memory: by libisal.
bool crc32c_is_fast();

}  // namespace stretto

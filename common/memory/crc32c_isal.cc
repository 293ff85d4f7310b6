// SPDX-License-Identifier: Apache-2.0
// CRC32C by libisal, at memory speed. Long inputs are split, as the library's length is an int.
#include <isa-l/crc.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <algorithm>

#include "common/memory/crc32c.h"

namespace stretto {
namespace {

// The library leaves the upper halves of wide registers dirty, which would slow each later SSE
// instruction of this thread, including those of the user's program.
#if defined(__x86_64__)
__attribute__((target("avx"))) void leave_wide_registers() { _mm256_zeroupper(); }
void tidy_up() {
  if (__builtin_cpu_supports("avx")) leave_wide_registers();
}
#else
void tidy_up() {}
#endif

}  // namespace

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
  tidy_up();
  return ~crc;
}

bool crc32c_is_fast() { return true; }

}  // namespace stretto

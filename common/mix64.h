// SPDX-License-Identifier: Apache-2.0
// The mixing function of SplitMix64 (Stafford's variant 13): each bit of the result depends on all
// bits of the argument. Not for cryptography.
#pragma once

#include <cstdint>

namespace stretto {

/// Bijective, and the same on every machine. Thread: any.
constexpr std::uint64_t mix64(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

}  // namespace stretto

// SPDX-License-Identifier: Apache-2.0
// A shuffled order of n numbers that needs no memory and can be entered anywhere: a Feistel network
// over the next power of four, walked until it lands below n (Black and Rogaway, "Ciphers with
// Arbitrary Finite Domains", 2002). So a cursor is two numbers, whatever the data set's size.
#pragma once

#include <bit>
#include <cstdint>

namespace stretto::input {

/// Bits of x, mixed (Stafford's variant 13, as in SplitMix64).
constexpr std::uint64_t mixed(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

/// A permutation of 0 to count - 1, chosen by the key. Thread: any (a value).
class Permutation {
 public:
  Permutation(std::uint64_t count, std::uint64_t key)
      : count_(count),
        key_(mixed(key)),
        half_bits_((static_cast<int>(std::bit_width(count | 1)) + 1) / 2) {}

  /// Where `place` of the order leads. `place` is below count.
  std::uint64_t operator()(std::uint64_t place) const {
    do {
      place = permuted(place);
    } while (place >= count_);
    return place;
  }

 private:
  static constexpr int kRounds = 6;

  std::uint64_t permuted(std::uint64_t x) const {
    const std::uint64_t mask = (std::uint64_t{1} << half_bits_) - 1;
    std::uint64_t left = x >> half_bits_;
    std::uint64_t right = x & mask;
    for (std::uint64_t round = 0; round < kRounds; ++round) {
      const std::uint64_t next = left ^ (mixed(right ^ mixed(key_ + round)) & mask);
      left = right;
      right = next;
    }
    return left << half_bits_ | right;
  }

  std::uint64_t count_;
  std::uint64_t key_;
  int half_bits_;
};

}  // namespace stretto::input

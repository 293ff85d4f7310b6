// SPDX-License-Identifier: Apache-2.0
// A shuffled order of n numbers that needs no memory and can be entered anywhere: a Feistel network
// over the next power of four, walked until it lands below n (Black and Rogaway, "Ciphers with
// Arbitrary Finite Domains", 2002). So a cursor is two numbers, whatever the data set's size.
//
// For a few numbers, such a small network reaches some orders more often than others. A table of 16
// bytes replaces it, shuffled so that all orders are equally likely (Fisher and Yates).
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <utility>

#include "common/mix64.h"

namespace stretto::input {

/// A permutation of 0 to count - 1, chosen by the key. Thread: any (a value).
class Permutation {
 public:
  Permutation(std::uint64_t count, std::uint64_t key)
      : count_(count),
        key_(mix64(key)),
        half_bits_((static_cast<int>(std::bit_width(count | 1)) + 1) / 2) {
    if (count_ <= kTabled) shuffle_table();
  }

  /// The number at `place` of the order. `place` is below count.
  std::uint64_t operator()(std::uint64_t place) const {
    if (count_ <= kTabled) return table_[place];
    do {
      place = permuted(place);
    } while (place >= count_);
    return place;
  }

 private:
  static constexpr int kRounds = 6;
  static constexpr std::uint64_t kTabled = 16;

  void shuffle_table() {
    for (std::uint64_t i = 0; i < count_; ++i) table_[i] = static_cast<std::uint8_t>(i);
    std::uint64_t state = key_;
    for (std::uint64_t left = count_; left > 1; --left) {
      state = mix64(state + 0x9e3779b97f4a7c15ULL);
      std::swap(table_[left - 1], table_[state % left]);
    }
  }

  std::uint64_t permuted(std::uint64_t x) const {
    const std::uint64_t mask = (std::uint64_t{1} << half_bits_) - 1;
    std::uint64_t left = x >> half_bits_;
    std::uint64_t right = x & mask;
    for (std::uint64_t round = 0; round < kRounds; ++round) {
      const std::uint64_t next = left ^ (mix64(right ^ mix64(key_ + round)) & mask);
      left = right;
      right = next;
    }
    return left << half_bits_ | right;
  }

  std::uint64_t count_;
  std::uint64_t key_;
  int half_bits_;
  std::array<std::uint8_t, kTabled> table_{};
};

}  // namespace stretto::input

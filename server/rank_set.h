// SPDX-License-Identifier: Apache-2.0
// RankSet: which workers of a job, one bit each. What counts contributors is a set, never a number:
// a worker that comes twice is in it once.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

#include "stretto/types.h"

namespace stretto {

/// A set of ranks below a limit that is given once. Thread: loop.
class RankSet {
 public:
  RankSet() = default;
  explicit RankSet(std::uint32_t limit) : limit_(limit), words_((limit + 63) / 64) {}

  std::uint32_t limit() const { return limit_; }
  std::uint32_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  bool full() const { return size_ == limit_; }
  bool contains(Rank rank) const { return (words_[rank / 64] >> (rank % 64) & 1) != 0; }
  /// True if it was not there.
  bool insert(Rank rank) {
    if (contains(rank)) return false;
    words_[rank / 64] |= std::uint64_t{1} << (rank % 64);
    ++size_;
    return true;
  }
  void clear() {
    std::ranges::fill(words_, std::uint64_t{0});
    size_ = 0;
  }
  /// The lowest that is here and not in `other`, a set of the same limit; -1 if there is none.
  std::int64_t first_beyond(const RankSet& other) const {
    for (std::size_t word = 0; word < words_.size(); ++word) {
      const std::uint64_t rest = words_[word] & ~other.words_[word];
      if (rest != 0) return static_cast<std::int64_t>(64 * word) + std::countr_zero(rest);
    }
    return -1;
  }

  friend bool operator==(const RankSet&, const RankSet&) = default;

 private:
  std::uint32_t limit_ = 0;
  std::uint32_t size_ = 0;
  std::vector<std::uint64_t> words_;
};

}  // namespace stretto

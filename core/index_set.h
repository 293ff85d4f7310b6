// SPDX-License-Identifier: Apache-2.0
// IndexSet: a subset of a list's members, one bit each. Contributors are counted by sets, never by
// a number: a worker that contributes twice is in the set once.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

namespace stretto {

/// A set of indices below a limit, which is fixed at construction. Thread: loop.
class IndexSet {
 public:
  IndexSet() = default;
  explicit IndexSet(std::uint32_t limit) : limit_(limit), words_((limit + 63) / 64) {}

  std::uint32_t limit() const { return limit_; }
  std::uint32_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  bool full() const { return size_ == limit_; }
  bool contains(std::uint32_t index) const { return (words_[index / 64] >> (index % 64) & 1) != 0; }
  std::vector<std::uint32_t> members() const {
    std::vector<std::uint32_t> found;
    for (std::uint32_t index = 0; index < limit_; ++index) {
      if (contains(index)) found.push_back(index);
    }
    return found;
  }
  /// True if the index was not in the set.
  bool insert(std::uint32_t index) {
    if (contains(index)) return false;
    words_[index / 64] |= std::uint64_t{1} << (index % 64);
    ++size_;
    return true;
  }
  void clear() {
    std::ranges::fill(words_, std::uint64_t{0});
    size_ = 0;
  }
  /// Here and below, `other` has the same limit.
  bool contains_all(const IndexSet& other) const { return other.first_beyond(*this) < 0; }
  bool intersects(const IndexSet& other) const {
    for (std::size_t word = 0; word < words_.size(); ++word) {
      if ((words_[word] & other.words_[word]) != 0) return true;
    }
    return false;
  }
  void insert_all(const IndexSet& other) {
    size_ = 0;
    for (std::size_t word = 0; word < words_.size(); ++word) {
      words_[word] |= other.words_[word];
      size_ += static_cast<std::uint32_t>(std::popcount(words_[word]));
    }
  }
  /// The lowest index that is in this set and not in `other`; -1 if there is none.
  std::int64_t first_beyond(const IndexSet& other) const {
    for (std::size_t word = 0; word < words_.size(); ++word) {
      const std::uint64_t rest = words_[word] & ~other.words_[word];
      if (rest != 0) return static_cast<std::int64_t>(64 * word) + std::countr_zero(rest);
    }
    return -1;
  }

  friend bool operator==(const IndexSet&, const IndexSet&) = default;

 private:
  std::uint32_t limit_ = 0;
  std::uint32_t size_ = 0;
  std::vector<std::uint64_t> words_;
};

}  // namespace stretto

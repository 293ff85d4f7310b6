// SPDX-License-Identifier: Apache-2.0
// Input: a fuzzer's bytes, read from the front as numbers, choices and texts, so that a corpus file
// can be written by hand. Bytes past the end read as zero: every input is a complete program.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>

#include "common/memory/buffer.h"

namespace stretto::fuzz {

/// Thread: the fuzzer's.
class Input {
 public:
  Input(const std::uint8_t* data, std::size_t size) : left_(data, size) {}

  bool empty() const { return left_.empty(); }
  std::size_t size() const { return left_.size(); }

  /// The next sizeof(T) bytes, as a little-endian number.
  template <typename T>
  T take() {
    T value{};
    const auto bytes = next(sizeof(T));
    if (!bytes.empty()) std::memcpy(&value, bytes.data(), bytes.size());
    return value;
  }
  std::uint8_t byte() { return take<std::uint8_t>(); }
  /// 0 to n - 1, from one byte; n is at most 256.
  std::size_t below(std::size_t n) { return byte() % n; }
  bool flag() { return (byte() & 1) != 0; }
  /// True once in `n`, and never at the input's end: for rare cases.
  bool rarely(std::size_t n) { return below(n) == n - 1; }
  /// Mostly a small number; sometimes any.
  std::uint64_t number() { return rarely(16) ? take<std::uint64_t>() : below(8); }
  std::uint32_t small() { return static_cast<std::uint32_t>(number()); }

  /// The next byte is the length of the text.
  std::string text() {
    const auto bytes = next(byte());
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  /// `size` bytes, in memory of exactly that size; bytes beyond the input are zero.
  Buffer payload(std::size_t size) {
    Buffer buffer = Buffer::allocate(size);
    std::ranges::fill(buffer.writable(), std::byte{0});
    const auto bytes = next(size);
    if (!bytes.empty()) std::memcpy(buffer.writable().data(), bytes.data(), bytes.size());
    return buffer;
  }
  Buffer rest() { return payload(left_.size()); }

 private:
  std::span<const std::uint8_t> next(std::size_t most) {
    const auto bytes = left_.first(std::min(most, left_.size()));
    left_ = left_.subspan(bytes.size());
    return bytes;
  }

  std::span<const std::uint8_t> left_;
};

}  // namespace stretto::fuzz

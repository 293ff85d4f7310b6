// SPDX-License-Identifier: Apache-2.0
// Source: bytes with random access, so that parsers of file headers can be tested and fuzzed on
// memory.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "stretto/status.h"

namespace stretto::input {

/// The range of a sample in its file.
struct Extent {
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  bool operator==(const Extent&) const = default;
};

/// Thread: user.
class Source {
 public:
  virtual ~Source() = default;
  /// Reads into `into` from `offset` on; fewer bytes only at the end.
  virtual Result<std::size_t> read(std::uint64_t offset, std::span<std::byte> into) = 0;
  /// Total number of bytes.
  virtual std::uint64_t size() const = 0;
};

/// Thread: user.
class MemorySource final : public Source {
 public:
  explicit MemorySource(std::span<const std::byte> bytes) : bytes_(bytes) {}
  Result<std::size_t> read(std::uint64_t offset, std::span<std::byte> into) override {
    if (offset >= bytes_.size()) return std::size_t{0};
    const std::size_t count = std::min(into.size(), bytes_.size() - offset);
    std::memcpy(into.data(), bytes_.data() + offset, count);
    return count;
  }
  std::uint64_t size() const override { return bytes_.size(); }

 private:
  std::span<const std::byte> bytes_;
};

/// A window on a source for small reads that mostly go forwards. It reads large blocks where
/// headers are close together, and small blocks elsewhere. Thread: user.
class Glimpse {
 public:
  explicit Glimpse(Source& source) : source_(source) {}

  std::uint64_t size() const { return source_.size(); }

  /// `count` bytes at `offset`, valid until the next call; fewer at the end.
  Result<std::span<const std::byte>> at(std::uint64_t offset, std::size_t count) {
    if (offset < start_ || offset + count > start_ + window_.size()) {
      const bool near = offset >= start_ && offset - start_ <= window_.size() + kSmall;
      window_.resize(std::max(count, near ? kLarge : kSmall));
      Result<std::size_t> got = source_.read(offset, window_);
      if (!got.ok()) {
        window_.clear();
        return got.status();
      }
      window_.resize(*got);
      start_ = offset;
    }
    const std::size_t skip = offset - start_;
    return std::span<const std::byte>(window_).subspan(skip,
                                                       std::min(count, window_.size() - skip));
  }

 private:
  static constexpr std::size_t kSmall = 4096;
  static constexpr std::size_t kLarge = std::size_t{256} << 10;

  Source& source_;
  std::uint64_t start_ = 0;
  std::vector<std::byte> window_;
};

}  // namespace stretto::input

// SPDX-License-Identifier: Apache-2.0
// Buffer: a reference-counted lease on bytes in transit. Every holder may read the bytes; when the
// last lease ends, the owner is notified once. Contributions, values and user tensors all are
// leases, so no byte is copied only to extend its lifetime.
#pragma once

#include <atomic>
#include <cstddef>
#include <span>
#include <utility>

#include "common/check.h"
#include "stretto/types.h"

namespace stretto {

/// Thread: any. Copying a Buffer copies the lease, not the bytes.
class Buffer {
 public:
  Buffer() = default;  ///< No bytes.
  Buffer(const Buffer& other) : block_(other.block_), data_(other.data_), size_(other.size_) {
    if (block_ != nullptr) block_->leases.fetch_add(1, std::memory_order_relaxed);
  }
  Buffer(Buffer&& other) noexcept { swap(other); }
  Buffer& operator=(Buffer other) noexcept {
    swap(other);
    return *this;
  }
  ~Buffer() {
    if (block_ != nullptr && block_->leases.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      block_->release(block_);
    }
  }

  /// New writable host memory, 64-byte aligned, contents undefined.
  static Buffer allocate(std::size_t bytes);
  /// A copy of `bytes` in new memory.
  static Buffer copy_of(std::span<const std::byte> bytes);

  /// Lending period, set by the owner of lent memory. kForNow: leases should end with the current
  /// call; kLasting: leases may last as long as other processes take, and the bytes do not change.
  enum class Lending : std::uint8_t { kForNow, kLasting };

  /// Borrowed memory, read-only. `release()` runs once, when the last lease ends, on that lease's
  /// thread; it must not block.
  template <typename Release>
  static Buffer borrow(std::span<const std::byte> bytes, Release release,
                       Lending lending = Lending::kForNow) {
    Buffer made(new Owned<Release>(std::move(release)), const_cast<std::byte*>(bytes.data()),
                bytes.size(), false);
    made.block_->lasting = lending == Lending::kLasting;
    return made;
  }
  /// Transferred memory: writable while this is the only lease.
  template <typename Release>
  static Buffer adopt(std::span<std::byte> bytes, Release release) {
    return Buffer(new Owned<Release>(std::move(release)), bytes.data(), bytes.size(), true);
  }

  const std::byte* data() const { return data_; }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  std::span<const std::byte> bytes() const { return {data_, size_}; }

  /// A lease on some of the same bytes.
  Buffer slice(std::size_t offset, std::size_t bytes) const {
    STRETTO_CHECK(offset <= size_ && bytes <= size_ - offset);
    Buffer part = *this;
    part.data_ += offset;
    part.size_ = bytes;
    return part;
  }

  /// True while this is the only lease on memory that may be written.
  bool exclusive() const {
    return block_ != nullptr && block_->writable &&
           block_->leases.load(std::memory_order_acquire) == 1;
  }
  /// True for lent memory with kLasting.
  bool lasting() const { return block_ != nullptr && block_->lasting; }
  /// The bytes for writing. Only while exclusive().
  std::span<std::byte> writable() {
    STRETTO_CHECK(exclusive());
    return {data_, size_};
  }

 private:
  struct Block {
    std::atomic<std::uint32_t> leases{1};
    void (*release)(Block*);
    bool writable;
    bool lasting = false;
  };

  struct OwnedBlock;  // A block and its bytes in one allocation.

  template <typename Release>
  struct Owned : Block {
    explicit Owned(Release r) : on_release(std::move(r)) {
      this->release = [](Block* block) {
        auto* self = static_cast<Owned*>(block);
        self->on_release();
        delete self;
      };
    }
    Release on_release;
  };

  Buffer(Block* block, std::byte* data, std::size_t size, bool writable)
      : block_(block), data_(data), size_(size) {
    block_->writable = writable;
  }

  void swap(Buffer& other) noexcept {
    std::swap(block_, other.block_);
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
  }

  Block* block_ = nullptr;
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

/// The same bytes beyond the current call: copies bytes that are lent kForNow. Thread: any.
Buffer to_keep(const Buffer& payload);
/// The same without any time limit: copies all lent bytes, as a link has little lent memory.
Buffer to_own(const Buffer& payload);

}  // namespace stretto

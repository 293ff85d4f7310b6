// SPDX-License-Identifier: Apache-2.0
// Buffer: a counted lease on bytes that travel. Whoever holds one may read the bytes; when the last
// lease ends the owner is told, once. A share, a value and a user's tensor all travel as leases, so
// nothing is copied only to be kept alive.
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

  /// What the owner of lent memory says of it: that a lease should end with the call that brought
  /// it, or that it may be kept for as long as other processes take, and nobody changes the bytes.
  enum class Lending : std::uint8_t { kForNow, kLasting };

  /// Somebody's memory, read-only for us. `release()` runs once, when the last lease ends, on
  /// whatever thread ends it; it must not block.
  template <typename Release>
  static Buffer borrow(std::span<const std::byte> bytes, Release release,
                       Lending lending = Lending::kForNow) {
    Buffer made(new Owned<Release>(std::move(release)), const_cast<std::byte*>(bytes.data()),
                bytes.size(), false);
    made.block_->lasting = lending == Lending::kLasting;
    return made;
  }
  /// Memory given to us: we may write to it while we hold the only lease.
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
  /// True for lent memory that may be kept.
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

  struct OwnThread;  // A block and its bytes in one piece of memory.

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

/// The same bytes for longer than the call that brought them: a copy of what is lent for that call
/// only. Thread: any.
Buffer to_keep(const Buffer& payload);
/// The same for any time: a copy of all that is lent, as a link has little of such memory.
Buffer to_own(const Buffer& payload);

}  // namespace stretto

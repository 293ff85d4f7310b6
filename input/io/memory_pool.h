// SPDX-License-Identifier: Apache-2.0
// Memory for reads: aligned for O_DIRECT, and reused after its last lease ends. Mapping new memory,
// page by page, would cost as much as a fast device's read.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <memory>
#include <vector>

#include "common/memory/buffer.h"
#include "common/mutex.h"
#include "input/io/open_file.h"

namespace stretto::input {

/// Thread: any. One mutex. Leases may outlive the reader: each keeps the pool alive.
class MemoryPool : public std::enable_shared_from_this<MemoryPool> {
 public:
  explicit MemoryPool(std::size_t most_kept) : most_kept_(most_kept) {}
  MemoryPool(const MemoryPool&) = delete;
  MemoryPool& operator=(const MemoryPool&) = delete;
  ~MemoryPool() {
    for (const Piece& piece : kept_) std::free(piece.memory);
  }

  /// Memory taken by a lease on `bytes`.
  static std::size_t rounded(std::size_t bytes) {
    // Quarters of a power of two: few distinct sizes, little waste.
    const std::size_t step = std::max(kAlignment, std::bit_floor(bytes) / 4);
    return (std::max<std::size_t>(bytes, 1) + step - 1) / step * step;
  }

  /// A lease on writable memory; none if the system has no memory.
  Buffer lease(std::size_t bytes) {
    const std::size_t size = rounded(bytes);
    void* memory = take(size);
    if (memory == nullptr) memory = std::aligned_alloc(kAlignment, size);
    if (memory == nullptr) return {};
    return Buffer::adopt({static_cast<std::byte*>(memory), size},
                         [self = shared_from_this(), memory, size] { self->give(memory, size); });
  }

 private:
  struct Piece {
    void* memory;
    std::size_t size;
  };

  void* take(std::size_t size) {
    MutexLock lock(mutex_);
    for (Piece& piece : kept_) {
      if (piece.size != size) continue;
      void* memory = piece.memory;
      kept_bytes_ -= size;
      piece = kept_.back();
      kept_.pop_back();
      return memory;
    }
    return nullptr;
  }
  void give(void* memory, std::size_t size) {
    {
      MutexLock lock(mutex_);
      if (kept_.size() < kMostPieces && kept_bytes_ + size <= most_kept_) {
        kept_.push_back({memory, size});
        kept_bytes_ += size;
        return;
      }
    }
    std::free(memory);
  }

  static constexpr std::size_t kMostPieces = 1024;

  Mutex mutex_;
  const std::size_t most_kept_;
  std::vector<Piece> kept_ GUARDED_BY(mutex_);
  std::size_t kept_bytes_ GUARDED_BY(mutex_) = 0;
};

}  // namespace stretto::input

// SPDX-License-Identifier: Apache-2.0
// Arena: memory that peers of this host can read. Frames name what lies here by chunk and offset,
// and nothing is copied. It grows by chunks, each a memfd of its own that is sealed when it is
// made: peers can neither write to it nor meet an end of it that has moved.
//
// Blocks that are free are kept, the last one used first, while it is still in the cache. One also
// serves for less, down to half its size. Chunks are kept until the arena ends: sealed memory
// cannot be given back in part, so sizes that only ever grow leave the smaller blocks behind.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "common/memory/buffer.h"
#include "common/mutex.h"
#include "van/shm/memfd.h"

namespace stretto::shm {

/// Buffers may outlive it, and end on any thread. Everything else: Thread: loop.
class Arena {
 public:
  /// Where bytes of ours lie, in words that peers understand.
  struct Place {
    std::uint32_t chunk = 0;
    std::uint64_t offset = 0;
  };

  /// Grows by `chunk_bytes` at least. Nothing is taken before the first allocate().
  explicit Arena(std::size_t chunk_bytes);

  /// Writable, 64-byte aligned, contents undefined. An error if the system has no more memory or
  /// descriptors.
  Result<Buffer> allocate(std::size_t bytes);
  /// None if not all of them lie here.
  std::optional<Place> find(std::span<const std::byte> bytes) const;

  std::size_t chunks() const { return chunks_.size(); }
  const Descriptor& descriptor_of(std::size_t chunk) const { return chunks_[chunk].memory; }
  std::size_t bytes_of(std::size_t chunk) const { return chunks_[chunk].bytes; }
  std::size_t total_bytes() const { return total_bytes_; }

 private:
  // What buffers need of us: the mappings, and where to put what they leave.
  struct Store {
    Mutex mutex;
    std::vector<Mapping> mappings GUARDED_BY(mutex);
    std::map<std::size_t, std::vector<std::byte*>> free GUARDED_BY(mutex);  // By size.
  };
  struct Chunk {
    Descriptor memory;
    std::byte* start = nullptr;
    std::size_t bytes = 0;
  };

  std::span<std::byte> take(std::size_t size);
  Status grow(std::size_t size);
  void keep_rest();

  const std::size_t chunk_bytes_;
  std::shared_ptr<Store> store_;
  std::vector<Chunk> chunks_;
  std::map<const std::byte*, std::uint32_t> by_address_;
  std::size_t total_bytes_ = 0;
  std::span<std::byte> rest_;  // Of the newest chunk, never used yet.
};

/// The size of the block that `bytes` are given: at most a quarter larger, from 256 bytes on.
std::size_t block_size(std::size_t bytes);

}  // namespace stretto::shm

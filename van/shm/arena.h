// SPDX-License-Identifier: Apache-2.0
// Arena: memory that peers on this host can read. Frames refer to it by chunk and offset, so
// payloads are not copied. It grows by chunks, each a memfd of its own that is sealed at creation:
// peers can neither write to a chunk nor see it shrink.
//
// Free blocks are kept and reused last in, first out, while they are in the cache. A block also
// serves requests down to half its size. Chunks are kept until the arena ends: sealed memory cannot
// be returned in part, so growing sizes leave the smaller blocks unused.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "common/memory/buffer.h"
#include "common/mutex.h"
#include "van/shm/memfd.h"

namespace stretto::shm {

/// Buffers may outlive the arena, and end on any thread. Everything else: Thread: loop.
class Arena {
 public:
  /// The position of bytes in the arena, as frames name it.
  struct Place {
    std::uint32_t chunk = 0;
    std::uint64_t offset = 0;
  };

  /// Grows by at least `chunk_bytes`. The first allocate() takes the first memory.
  explicit Arena(std::size_t chunk_bytes);

  /// Writable, 64-byte aligned, contents undefined. An error if memory or descriptors run out.
  Result<Buffer> allocate(std::size_t bytes);
  /// None unless all of the bytes lie here.
  std::optional<Place> find(std::span<const std::byte> bytes) const;

  std::size_t chunks() const { return chunks_.size(); }
  const Descriptor& descriptor_of(std::size_t chunk) const { return chunks_[chunk].memory; }
  std::size_t bytes_of(std::size_t chunk) const { return chunks_[chunk].bytes; }
  std::size_t total_bytes() const { return total_bytes_; }

 private:
  // What buffers need when they end: the mappings and the free lists.
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
  std::span<std::byte> rest_;  // The unused rest of the newest chunk.
};

/// The size of the block for `bytes`: at most a quarter larger, from 256 bytes on.
std::size_t block_size(std::size_t bytes);

}  // namespace stretto::shm

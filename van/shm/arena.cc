// SPDX-License-Identifier: Apache-2.0
// Blocks of few sizes, cut from chunks, kept in lists by size.
#include "van/shm/arena.h"

#include <algorithm>
#include <bit>

namespace stretto::shm {
namespace {

constexpr std::size_t kBlockAlignment = 64;
constexpr std::size_t kPage = 4096;
constexpr std::size_t kMostTooLarge = 2;  // Times the requested size.

constexpr std::size_t round_up(std::size_t bytes, std::size_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

}  // namespace

std::size_t block_size(std::size_t bytes) {
  const std::size_t step = std::bit_floor(std::max<std::size_t>(bytes, 1)) / 4;
  return round_up(std::max<std::size_t>(bytes, 1), std::max(step, kBlockAlignment));
}

Arena::Arena(std::size_t chunk_bytes)
    : chunk_bytes_(chunk_bytes), store_(std::make_shared<Store>()) {}

Result<Buffer> Arena::allocate(std::size_t bytes) {
  const std::size_t size = block_size(bytes);
  std::span<std::byte> block = take(size);
  if (block.empty()) {
    if (Status status = grow(size); !status.ok()) return status;
    block = take(size);
  }
  return Buffer::adopt(block.first(bytes), [store = store_, block] {
    const MutexLock lock(store->mutex);
    store->free[block.size()].push_back(block.data());
  });
}

std::span<std::byte> Arena::take(std::size_t size) {
  {
    const MutexLock lock(store_->mutex);
    auto fitting = store_->free.lower_bound(size);
    for (; fitting != store_->free.end() && fitting->first <= kMostTooLarge * size; ++fitting) {
      if (fitting->second.empty()) continue;
      std::byte* const block = fitting->second.back();
      fitting->second.pop_back();
      return {block, fitting->first};
    }
  }
  if (rest_.size() < size) return {};
  const std::span<std::byte> block = rest_.first(size);
  rest_ = rest_.subspan(size);
  return block;
}

// Each chunk is a fraction of the existing memory, so that the number of chunks stays small.
Status Arena::grow(std::size_t size) {
  const std::size_t bytes = round_up(std::max({size, chunk_bytes_, total_bytes_ / 4}), kPage);
  Result<Descriptor> memory = make_memory(bytes);
  if (!memory.ok()) return memory.status();
  Result<Mapping> mapping = Mapping::map(*memory, bytes, Mapping::Access::kWrite);
  if (!mapping.ok()) return mapping.status();
  // After our own mapping, which is the only writable one.
  if (Status status = seal(*memory, true); !status.ok()) return status;
  keep_rest();
  std::byte* const start = mapping->data();
  by_address_[start] = static_cast<std::uint32_t>(chunks_.size());
  chunks_.push_back({*std::move(memory), start, bytes});
  total_bytes_ += bytes;
  rest_ = {start, bytes};
  const MutexLock lock(store_->mutex);
  store_->mappings.push_back(*std::move(mapping));
  return {};
}

// The rest of the old chunk was too small for the requested block; cuts it into smaller ones.
void Arena::keep_rest() {
  const MutexLock lock(store_->mutex);
  while (rest_.size() >= kBlockAlignment) {
    const std::size_t size = std::bit_floor(rest_.size());
    store_->free[size].push_back(rest_.data());
    rest_ = rest_.subspan(size);
  }
  rest_ = {};
}

std::optional<Arena::Place> Arena::find(std::span<const std::byte> bytes) const {
  auto above = by_address_.upper_bound(bytes.data());
  if (above == by_address_.begin()) return std::nullopt;
  const std::uint32_t number = std::prev(above)->second;
  const Chunk& chunk = chunks_[number];
  const auto offset = static_cast<std::size_t>(bytes.data() - chunk.start);
  if (offset > chunk.bytes || bytes.size() > chunk.bytes - offset) return std::nullopt;
  return Place{number, offset};
}

}  // namespace stretto::shm

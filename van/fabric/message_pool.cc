// SPDX-License-Identifier: Apache-2.0
// Slots come in chunks, one registration each.
#include "van/fabric/message_pool.h"

namespace stretto::fabric {

Status Slots::grow(FabricEndpoint& endpoint, std::size_t count) {
  if (count <= count_) return {};
  const std::size_t more = count - count_;
  Chunk chunk{.memory = Buffer::allocate(more * slot_bytes_), .region = {}, .slots = {}};
  const std::span<std::byte> memory = chunk.memory.writable();
  Result<Region> region = endpoint.lend(memory);
  if (!region.ok()) return region.status();
  chunk.region = *std::move(region);
  void* descriptor = chunk.region == nullptr ? nullptr : fi_mr_desc(chunk.region.get());
  for (std::size_t i = 0; i < more; ++i) {
    auto slot = std::make_unique<PooledMessage>(kind_);
    slot->memory = memory.subspan(i * slot_bytes_, slot_bytes_);
    slot->descriptor = descriptor;
    free_.push_back(slot.get());
    chunk.slots.push_back(std::move(slot));
  }
  chunks_.push_back(std::move(chunk));
  count_ = count;
  return {};
}

PooledMessage* Slots::take() {
  if (free_.empty()) return nullptr;
  PooledMessage* slot = free_.back();
  free_.pop_back();
  return slot;
}

}  // namespace stretto::fabric

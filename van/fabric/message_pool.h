// SPDX-License-Identifier: Apache-2.0
// Slots: registered memory in pieces of one size, for sent and received messages.
#pragma once

#include <memory>
#include <vector>

#include "common/check.h"
#include "common/memory/buffer.h"
#include "van/fabric/endpoint.h"

namespace stretto::fabric {

struct PooledMessage : ProviderOperation {
  using ProviderOperation::ProviderOperation;
  std::span<std::byte> memory;
  std::uint32_t link = 0;  ///< The link whose message is being sent.
  void* descriptor = nullptr;
};

/// Thread: loop. Must outlive the endpoint's operations, and end before the FabricEndpoint.
class Slots {
 public:
  Slots(ProviderOperation::Kind kind, std::size_t slot_bytes)
      : kind_(kind), slot_bytes_(slot_bytes) {}

  /// Adds slots until there are `count` in all.
  Status grow(FabricEndpoint& endpoint, std::size_t count);
  std::size_t count() const { return count_; }
  /// Null if all are in use.
  PooledMessage* take();
  void give(PooledMessage* slot) {
    STRETTO_CHECK(free_.size() < count_);
    free_.push_back(slot);
  }

 private:
  struct Chunk {
    Buffer memory;
    Region region;
    std::vector<std::unique_ptr<PooledMessage>> slots;
  };
  ProviderOperation::Kind kind_;
  std::size_t slot_bytes_;
  std::size_t count_ = 0;
  std::vector<Chunk> chunks_;
  std::vector<PooledMessage*> free_;
};

}  // namespace stretto::fabric

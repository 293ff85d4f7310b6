// SPDX-License-Identifier: Apache-2.0
// RemoteArena: our read-only view of a peer's arena: the chunks that the peer has announced. It
// checks the positions that the peer gives for payloads.
#pragma once

#include <memory>
#include <vector>

#include "van/shm/unix_socket.h"

namespace stretto::shm {

/// Thread: loop.
class RemoteArena {
 public:
  /// Adds the chunk of an announcement, with the memory passed along.
  Status add(const SocketMessage& note, const Descriptor& memory);

  /// Bytes in a mapping that stays valid while any View holds it.
  struct View {
    std::shared_ptr<const Mapping> mapping;
    std::span<const std::byte> bytes;
  };
  /// False if the chunk has not been announced.
  bool knows(std::uint32_t chunk) const { return chunk < chunks_.size(); }
  /// An error unless all bytes lie in the chunk.
  Result<View> find(std::uint32_t chunk, std::uint64_t offset, std::uint64_t bytes) const;

 private:
  std::vector<std::shared_ptr<const Mapping>> chunks_;
  std::uint64_t total_bytes_ = 0;
};

}  // namespace stretto::shm

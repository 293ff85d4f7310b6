// SPDX-License-Identifier: Apache-2.0
// RemoteArena: a peer's arena as we see it: chunks that it has told us of, which we can only read.
// Where the peer says that a payload lies is checked here.
#pragma once

#include <memory>
#include <vector>

#include "van/shm/unix_socket.h"

namespace stretto::shm {

/// Thread: loop.
class RemoteArena {
 public:
  /// What a note says, with the memory that came with it.
  Status add(const SocketMessage& note, const Descriptor& memory);

  /// Bytes in a mapping that stays while somebody holds it.
  struct View {
    std::shared_ptr<const Mapping> mapping;
    std::span<const std::byte> bytes;
  };
  /// False if we have not been told of the chunk.
  bool knows(std::uint32_t chunk) const { return chunk < chunks_.size(); }
  /// An error if they do not all lie in the chunk.
  Result<View> find(std::uint32_t chunk, std::uint64_t offset, std::uint64_t bytes) const;

 private:
  std::vector<std::shared_ptr<const Mapping>> chunks_;
  std::uint64_t total_bytes_ = 0;
};

}  // namespace stretto::shm

// SPDX-License-Identifier: Apache-2.0
// All input comes from a peer, and is checked against the limits and the memory itself.
#include "van/shm/remote_arena.h"

#include <fmt/core.h>

namespace stretto::shm {
namespace {

// Real peers stay far below: an arena grows by a quarter at a time.
constexpr std::size_t kMostChunks = 1024;
constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 42;

}  // namespace

Status RemoteArena::add(const SocketMessage& note, const Descriptor& memory) {
  if (!memory.is_open()) {
    return {Code::kResource,
            "shared memory of a peer did not arrive; raise the limit of open files (ulimit -n)"};
  }
  if (note.number != chunks_.size() || chunks_.size() >= kMostChunks || note.bytes == 0 ||
      note.bytes > kMostBytes - total_bytes_) {
    return {Code::kMalformed, fmt::format("chunk {} of {} bytes was announced after {} chunks",
                                          note.number, note.bytes, chunks_.size())};
  }
  if (Status status = check_memory(memory, note.bytes); !status.ok()) return status;
  Result<Mapping> mapping = Mapping::map(memory, note.bytes, Mapping::Access::kRead);
  if (!mapping.ok()) return mapping.status();
  chunks_.push_back(std::make_shared<const Mapping>(*std::move(mapping)));
  total_bytes_ += note.bytes;
  return {};
}

Result<RemoteArena::View> RemoteArena::find(std::uint32_t chunk, std::uint64_t offset,
                                            std::uint64_t bytes) const {
  if (!knows(chunk) || offset > chunks_[chunk]->size() || bytes > chunks_[chunk]->size() - offset) {
    return Status(Code::kMalformed,
                  fmt::format("a frame names {} bytes at {} of chunk {}, which are not there",
                              bytes, offset, chunk));
  }
  return View{chunks_[chunk], {chunks_[chunk]->data() + offset, bytes}};
}

}  // namespace stretto::shm

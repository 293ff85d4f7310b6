// SPDX-License-Identifier: Apache-2.0
// Memory for buffers, 64-byte aligned, so that arithmetic and checksums work on whole cache lines.
#include "common/memory/buffer.h"

#include <cstdint>
#include <cstring>
#include <new>

#include "common/memory.h"

namespace stretto {

// Small buffers are created and freed at the rate of frames. malloc is much faster without a
// requested alignment, so this code aligns them.
struct Buffer::OwnedBlock : Block {
  static constexpr std::size_t kAlignment = 64;
};

Buffer Buffer::allocate(std::size_t bytes) {
  constexpr std::size_t kAlignment = OwnedBlock::kAlignment;
  constexpr std::size_t kBesides = sizeof(OwnedBlock) + kAlignment - 1;
  void* const found =
      bytes > PTRDIFF_MAX - kBesides ? nullptr : ::operator new(kBesides + bytes, std::nothrow);
  if (found == nullptr) throw OutOfMemory(bytes);
  auto* const memory = static_cast<std::byte*>(found);
  auto* block = new (memory) OwnedBlock;
  block->release = [](Block* ended) {
    auto* self = static_cast<OwnedBlock*>(ended);
    self->~OwnedBlock();
    ::operator delete(static_cast<void*>(self));
  };
  const auto after = reinterpret_cast<std::uintptr_t>(memory + sizeof(OwnedBlock));
  const std::uintptr_t start = (after + kAlignment - 1) / kAlignment * kAlignment;
  return {block, memory + sizeof(OwnedBlock) + (start - after), bytes, true};
}

Buffer Buffer::copy_of(std::span<const std::byte> bytes) {
  Buffer buffer = allocate(bytes.size());
  if (!bytes.empty()) std::memcpy(buffer.data_, bytes.data(), bytes.size());
  return buffer;
}

Buffer to_own(const Buffer& payload) {
  return payload.empty() || payload.exclusive() ? payload : Buffer::copy_of(payload.bytes());
}

Buffer to_keep(const Buffer& payload) {
  const bool as_it_is = payload.empty() || payload.exclusive() || payload.lasting();
  return as_it_is ? payload : Buffer::copy_of(payload.bytes());
}

}  // namespace stretto

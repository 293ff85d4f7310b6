// SPDX-License-Identifier: Apache-2.0
// Memory for buffers: 64-byte aligned, so that arithmetic and checksums meet whole cache lines.
#include "common/buffer.h"

#include <cstdlib>
#include <cstring>
#include <new>

namespace stretto {

Buffer Buffer::allocate(std::size_t bytes) {
  constexpr std::align_val_t kAlignment{64};
  auto* memory = static_cast<std::byte*>(::operator new(bytes == 0 ? 1 : bytes, kAlignment));
  return adopt({memory, bytes}, [memory] { ::operator delete(memory, kAlignment); });
}

Buffer Buffer::copy_of(std::span<const std::byte> bytes) {
  Buffer buffer = allocate(bytes.size());
  if (!bytes.empty()) std::memcpy(buffer.data_, bytes.data(), bytes.size());
  return buffer;
}

}  // namespace stretto

// SPDX-License-Identifier: Apache-2.0
// Copies in a part's own memory.
#include "server/aggregation/contribution.h"

#include <algorithm>
#include <cstring>

namespace stretto {

Buffer own_copy(const Buffer& bytes, const Allocate& allocate) {
  Buffer copy = allocate(bytes.size());
  if (!bytes.empty()) std::memcpy(copy.writable().data(), bytes.data(), bytes.size());
  return copy;
}

Buffer zeros(std::size_t bytes, const Allocate& allocate) {
  Buffer made = allocate(bytes);
  std::ranges::fill(made.writable(), std::byte{0});
  return made;
}

}  // namespace stretto

// SPDX-License-Identifier: Apache-2.0
// One traversal of the spans for both directions.
#include "server/storage/scatter_gather.h"

#include <algorithm>
#include <cstring>

#include "common/check.h"

namespace stretto {
namespace {

// Calls visit(bytes of memory, offset in the piece) for `count` bytes from `offset` on.
template <typename Memory, typename Visit>
void for_range(const Memory& memory, std::uint64_t offset, std::uint64_t count, Visit visit) {
  STRETTO_CHECK(offset <= size_of(memory) && count <= size_of(memory) - offset);
  std::uint64_t done = 0;
  for (const auto span : memory) {
    if (done == count) return;
    if (offset >= span.size()) {
      offset -= span.size();
      continue;
    }
    const std::uint64_t here = std::min(count - done, span.size() - offset);
    visit(span.subspan(offset, here), done);
    done += here;
    offset = 0;
  }
}

}  // namespace

std::uint64_t size_of(const Spans& memory) {
  return size_of(ConstSpans(memory.begin(), memory.end()));
}

std::uint64_t size_of(const ConstSpans& memory) {
  std::uint64_t total = 0;
  for (const std::span<const std::byte> span : memory) total += span.size();
  return total;
}

void copy_from(const ConstSpans& memory, std::uint64_t offset, std::span<std::byte> piece) {
  for_range(memory, offset, piece.size(),
            [piece](std::span<const std::byte> from, std::uint64_t into) {
              std::memcpy(piece.data() + into, from.data(), from.size());
            });
}

void copy_into(const Spans& memory, std::uint64_t offset, std::span<const std::byte> piece) {
  for_range(memory, offset, piece.size(), [piece](std::span<std::byte> into, std::uint64_t from) {
    std::memcpy(into.data(), piece.data() + from, into.size());
  });
}

}  // namespace stretto

// SPDX-License-Identifier: Apache-2.0
// Memory in several spans, reached by one offset.
#include "server/rule_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace stretto {
namespace {

using Spans = std::vector<std::span<std::byte>>;

std::uint64_t size_of(const Spans& memory) {
  std::uint64_t total = 0;
  for (const std::span<std::byte> span : memory) total += span.size();
  return total;
}

// Calls visit(bytes of memory, place in the piece) for what `count` bytes from `offset` on are.
template <typename Visit>
void for_range(const Spans& memory, std::uint64_t offset, std::uint64_t count, Visit visit) {
  std::uint64_t done = 0;
  for (const std::span<std::byte> span : memory) {
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

wire::StatePiece refusal_of(const wire::StateRequest& request, const Status& why) {
  wire::StatePiece answer;
  answer.set_number(request.number());
  answer.set_code(static_cast<std::uint32_t>(why.code()));
  answer.set_cause(why.cause());
  return answer;
}

}  // namespace

wire::StatePiece answer_to(const wire::StateRequest& request, const Result<Cell*>& cell) {
  if (!cell.ok()) return refusal_of(request, cell.status());
  const Spans memory = (*cell)->memory();
  const std::uint64_t total = size_of(memory);
  const std::string& set = request.set();
  if (request.offset() > total || set.size() > total - request.offset()) {
    return refusal_of(request, {Code::kMalformed,
                                fmt::format("part {} of tensor {} has a state of {} bytes, and {} "
                                            "from {} on are none of it",
                                            request.part(), request.tensor(), total, set.size(),
                                            request.offset())});
  }
  if (!set.empty() && request.total() != total) {
    return refusal_of(
        request,
        {Code::kMismatch, fmt::format("part {} of tensor {} has a state of {} bytes, and one "
                                      "of {} was to be set",
                                      request.part(), request.tensor(), total, request.total())});
  }
  wire::StatePiece answer;
  answer.set_number(request.number());
  answer.set_total(total);
  answer.set_version((*cell)->value().version);
  if (!set.empty()) {
    for_range(memory, request.offset(), set.size(),
              [&set](std::span<std::byte> into, std::uint64_t from) {
                std::memcpy(into.data(), set.data() + from, into.size());
              });
    return answer;
  }
  std::string piece(std::min<std::uint64_t>(total - request.offset(), kStatePieceBytes), '\0');
  for_range(memory, request.offset(), piece.size(),
            [&piece](std::span<std::byte> from, std::uint64_t into) {
              std::memcpy(piece.data() + into, from.data(), from.size());
            });
  answer.set_piece(std::move(piece));
  return answer;
}

}  // namespace stretto

// SPDX-License-Identifier: Apache-2.0
// The memory of a rule as one run of bytes.
#include "server/rule_state.h"

#include <fmt/format.h>

#include <algorithm>

namespace stretto {
wire::StatePiece refusal_of(const wire::StateRequest& request, const Status& why) {
  wire::StatePiece answer;
  answer.set_number(request.number());
  answer.set_code(static_cast<std::uint32_t>(why.code()));
  answer.set_cause(why.cause());
  return answer;
}

wire::StatePiece answer_to(const wire::StateRequest& request, Store& store) {
  const Spans memory = store.memory();
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
  answer.set_version(store.value().version);
  if (!set.empty()) {
    copy_into(memory, request.offset(), std::as_bytes(std::span(set)));
    return answer;
  }
  std::string piece(std::min<std::uint64_t>(total - request.offset(), kStatePieceBytes), '\0');
  copy_from(ConstSpans(memory.begin(), memory.end()), request.offset(),
            std::as_writable_bytes(std::span(piece)));
  answer.set_piece(std::move(piece));
  return answer;
}

}  // namespace stretto

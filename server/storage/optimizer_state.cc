// SPDX-License-Identifier: Apache-2.0
// The state of an update rule as one range of bytes.
#include "server/storage/optimizer_state.h"

#include <fmt/core.h>

#include <algorithm>

namespace stretto {

control::StatePiece refusal_of(const control::StateRequest& request, const Status& why) {
  return {.number = request.number, .why = why};
}

control::StatePiece answer_to(const control::StateRequest& request, Store& store) {
  const Spans memory = store.memory();
  const std::uint64_t total = size_of(memory);
  const std::string& set = request.set;
  if (request.offset > total || set.size() > total - request.offset) {
    return refusal_of(
        request, {Code::kMalformed,
                  fmt::format("part {} of tensor {} has a state of {} bytes, and {} "
                              "from {} on are none of it",
                              request.part, request.tensor, total, set.size(), request.offset)});
  }
  if (!set.empty() && request.total != total) {
    return refusal_of(request, {Code::kMismatch,
                                fmt::format("part {} of tensor {} has a state of {} bytes, and one "
                                            "of {} was to be set",
                                            request.part, request.tensor, total, request.total)});
  }
  control::StatePiece answer{
      .number = request.number, .total = total, .version = store.value().version};
  if (!set.empty()) {
    copy_into(memory, request.offset, std::as_bytes(std::span(set)));
    return answer;
  }
  answer.piece.resize(
      std::min<std::uint64_t>(total - request.offset, control::StatePiece::kMaxBytes));
  copy_from(ConstSpans(memory.begin(), memory.end()), request.offset,
            std::as_writable_bytes(std::span(answer.piece)));
  return answer;
}

}  // namespace stretto

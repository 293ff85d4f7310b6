// SPDX-License-Identifier: Apache-2.0
// Pieces are bounded; numbers are held against what is known by whoever expects them.
#include "van/state_decode.h"

#include <fmt/format.h>

#include "van/checkpoint_decode.h"
#include "van/control.pb.h"
#include "van/control_codec.h"

namespace stretto::control {
namespace {

Status check_piece(std::string_view of, std::size_t bytes) {
  if (bytes <= StatePiece::kMaxBytes) return {};
  return {Code::kMalformed, fmt::format("{} has a piece of {} bytes, at most {} are taken", of,
                                        bytes, StatePiece::kMaxBytes)};
}

Result<Message> from(const wire::StateRequest& request) {
  if (Status status = check_piece("a request for state", request.set().size()); !status.ok()) {
    return status;
  }
  return Message(StateRequest{.number = request.number(),
                              .tensor = request.tensor(),
                              .part = request.part(),
                              .offset = request.offset(),
                              .set = request.set(),
                              .total = request.total()});
}

Result<Message> from(const wire::StatePiece& piece) {
  if (Status status = check_piece("an answer with state", piece.piece().size()); !status.ok()) {
    return status;
  }
  return Message(StatePiece{.number = piece.number(),
                            .total = piece.total(),
                            .version = piece.version(),
                            .piece = piece.piece(),
                            .why = outcome_from(piece.code(), piece.cause())});
}

Recall recall_from(const wire::Recall& recall) {
  return Recall{.tensor = recall.tensor(),
                .part = recall.part(),
                .round = recall.round(),
                .version = recall.version(),
                .finished = recall.finished(),
                .owed = recall.owed()};
}

}  // namespace

Result<Message> state_from(const wire::Control& message) {
  if (message.has_state_request()) return from(message.state_request());
  if (message.has_state_piece()) return from(message.state_piece());
  return Message(recall_from(message.recall()));
}

}  // namespace stretto::control

// SPDX-License-Identifier: Apache-2.0
// What an update rule remembers of a part, told and set in pieces. Sends nothing.
#pragma once

#include "server/cell.h"
#include "van/messages.h"

namespace stretto {

/// The most that one piece has: it travels as a control message, which nothing overtakes.
inline constexpr std::size_t kStatePieceBytes = std::size_t{64} << 10;

/// Does what a request wants of a cell. What the request got wrong, or why there is no cell, is in
/// the answer, and then nothing has changed.
wire::StatePiece answer_to(const wire::StateRequest& request, const Result<Cell*>& cell);

}  // namespace stretto

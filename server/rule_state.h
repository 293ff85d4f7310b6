// SPDX-License-Identifier: Apache-2.0
// What an update rule remembers of a part, told and set in pieces. Sends nothing.
#pragma once

#include "server/store.h"
#include "van/messages.h"

namespace stretto {

/// The most that one piece has: it travels as a control message, which nothing overtakes.
inline constexpr std::size_t kStatePieceBytes = std::size_t{64} << 10;

/// Does what a request wants of a part's store. What it got wrong is in the answer, and then
/// nothing has changed.
wire::StatePiece answer_to(const wire::StateRequest& request, Store& store);
/// Why there is nothing that it could be done to.
wire::StatePiece refusal_of(const wire::StateRequest& request, const Status& why);

}  // namespace stretto

// SPDX-License-Identifier: Apache-2.0
// What an update rule remembers of a part, told and set in pieces. Sends nothing.
#pragma once

#include "server/storage/part_store.h"
#include "van/control/control.h"

namespace stretto {

/// Does what a request wants of a part's store. What it got wrong is in the answer, and then
/// nothing has changed.
control::StatePiece answer_to(const control::StateRequest& request, Store& store);
/// Why there is nothing that it could be done to.
control::StatePiece refusal_of(const control::StateRequest& request, const Status& why);

}  // namespace stretto

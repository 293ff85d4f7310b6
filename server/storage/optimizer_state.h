// SPDX-License-Identifier: Apache-2.0
// Reads and writes the state of an update rule of a part, in pieces. Sends nothing.
#pragma once

#include "server/storage/part_store.h"
#include "van/control/control.h"

namespace stretto {

/// Applies a request to a part's store. Errors are in the answer; then the store is unchanged.
control::StatePiece answer_to(const control::StateRequest& request, Store& store);
/// The answer to a request for which there is no store.
control::StatePiece refusal_of(const control::StateRequest& request, const Status& why);

}  // namespace stretto

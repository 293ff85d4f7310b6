// SPDX-License-Identifier: Apache-2.0
// A worker's records in BytePS's timeline format: for each tensor a row with its whole exchange,
// and rows of its parts by stage. Scripts for comm.json need no change.
#pragma once

#include <string>

#include "observe/trace/timeline.h"

namespace stretto::trace {

/// The text of comm.json. Stages: PUSH, from the part's queueing to its last slice submitted;
/// PULL, from then to the value's arrival. Without values (a push alone) there is no PULL.
std::string byteps_json(const Trace& trace);

}  // namespace stretto::trace

// SPDX-License-Identifier: Apache-2.0
// The trace record of a contribution that a shard has summed or applied.
#pragma once

#include "common/clock.h"
#include "observe/trace/trace.h"
#include "van/wire/header.h"

namespace stretto {

/// The contribution in the frame of this header, `bytes` long; it `updates` a value by a rule.
TraceRecord record_of_share(const wire::Header& header, std::size_t bytes, bool updates, Time begin,
                            Time end);

}  // namespace stretto

// SPDX-License-Identifier: Apache-2.0
// The table of stretto-top.
#pragma once

#include <string>

#include "stretto/status.h"
#include "tools/trace/observer.h"

namespace stretto::observe {

/// The scheduler's snapshots, asked for page by page, as one table. At most `lines` nodes.
Result<std::string> table_of(Observer& observer, std::size_t lines);
/// The table of one page's JSON; an error if it is none.
Result<std::string> table_from(const std::string& json, bool with_head);

}  // namespace stretto::observe

// SPDX-License-Identifier: Apache-2.0
// The table of stretto-top.
#pragma once

#include <string>
#include <vector>

#include "stretto/status.h"
#include "tools/trace/observer_client.h"

namespace stretto::observe {

/// The scheduler's snapshots, fetched page by page, as one table. At most `lines` nodes.
Result<std::string> table_of(ObserverClient& observer, std::size_t lines);
/// The table of one page's JSON; an error if it is malformed.
Result<std::string> table_from(const std::string& json, bool with_head);

/// Fields of a --json line in addition to the job's snapshot.
struct LineHead {
  double time_s = 0;  ///< Since 1970.
  std::string job;
  std::string scheduler;  ///< host:port.
};

/// The scheduler's snapshots as one JSON object on one line, with the fields of
/// docs/OBSERVABILITY.md. At most `nodes` nodes. Errors: those of the observer; Malformed.
Result<std::string> line_of(ObserverClient& observer, const LineHead& head, std::size_t nodes);
/// As above, for the JSON of the snapshots' pages.
Result<std::string> line_from(const std::vector<std::string>& pages, const LineHead& head);

}  // namespace stretto::observe

// SPDX-License-Identifier: Apache-2.0
// A trace as a Chrome trace (JSON), which ui.perfetto.dev and chrome://tracing open: a process for
// each node, rows for concurrent spans, and arrows from a push to its sum, to the value, to the end
// of the wait. The events' args hold all recorded fields, so that the file can be read back and
// analysed.
#pragma once

#include <iosfwd>
#include <string>

#include "observe/trace/timeline.h"
#include "stretto/status.h"

namespace stretto::trace {

/// Times are relative to the start of the trace.
void write_chrome(std::ostream& out, const Trace& trace);

/// Reads what write_chrome wrote. Errors: InvalidArgument, with the file and what is wrong.
Result<Trace> read_chrome(const std::string& path);

}  // namespace stretto::trace

// SPDX-License-Identifier: Apache-2.0
// The fields of a record, from a header's.
#include "server/monitoring/contribution_trace.h"

#include "van/wire/frame_views.h"

namespace stretto {

TraceRecord record_of_share(const wire::Header& header, std::size_t bytes, bool updates, Time begin,
                            Time end) {
  TraceRecord record;
  record.begin_ns = trace_time(begin);
  record.end_ns = trace_time(end);
  record.round = wire::PushFrame::of(header).round;
  record.tensor = header.key.tensor;
  record.part = header.key.part;
  record.bytes = static_cast<std::uint32_t>(bytes);
  record.peer = header.sender;
  record.priority = header.priority;
  record.kind = updates ? TraceKind::kUpdate : TraceKind::kSum;
  record.frame = static_cast<std::uint8_t>(header.kind);
  return record;
}

}  // namespace stretto

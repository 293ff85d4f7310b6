// SPDX-License-Identifier: Apache-2.0
// Names, limits of sense, and the identity of what flows.
#include "observe/trace/timeline.h"

#include <fmt/core.h>

namespace stretto::trace {

std::string Node::name() const {
  const std::string text = fmt::format("{} {}", name_of(role), rank);
  return shard == 0 ? text : fmt::format("{} shard {}", text, shard);
}

std::string Trace::tensor_name(std::uint32_t tensor) const {
  const auto found = tensors.find(tensor);
  return found == tensors.end() ? fmt::format("tensor {}", tensor) : found->second;
}

std::size_t Trace::records() const {
  std::size_t count = 0;
  for (const Node& node : nodes) count += node.records.size();
  return count;
}

bool sensible(const TraceRecord& record) {
  constexpr std::int64_t kLongest = std::int64_t{86'400} * 1'000'000'000;
  constexpr std::int64_t kLatest = std::int64_t{1} << 60;  // Differences of shifted ones still fit.
  const bool in_time = record.begin_ns > -kLatest && record.begin_ns < kLatest &&
                       record.end_ns >= record.begin_ns &&
                       record.end_ns - record.begin_ns <= kLongest;
  return in_time && !name_of(record.kind).empty();
}

bool sensible(const TraceNote& note) {
  if (!sensible(note.span)) return false;
  bool all = true;
  unfold(note, [&all](const TraceRecord& span) { all = all && sensible(span); });
  switch (note.span.kind) {
    case TraceKind::kSend:
    case TraceKind::kSum:
    case TraceKind::kUpdate:
    case TraceKind::kExchange:
      return all;
    default:
      return note.since_ns == 0;
  }
}

FlowKey flow_of(const Node& node, const TraceRecord& record) {
  const std::uint32_t worker = node.role == Role::kWorker ? node.node : record.peer;
  return {worker, record.tensor, record.part, record.round};
}

}  // namespace stretto::trace

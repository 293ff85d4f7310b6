// SPDX-License-Identifier: Apache-2.0
// A trace as it was collected: what each node noted, and what its numbers are called.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "common/config/config.h"
#include "observe/trace/trace.h"

namespace stretto::trace {

/// Of one trace, at most.
inline constexpr std::size_t kMostNodes = 2 * kMaxNodes;
inline constexpr std::size_t kMostTensors = std::size_t{1} << 20;
inline constexpr std::size_t kMostRecords = std::size_t{1} << 24;

struct Node {
  std::uint32_t node = 0;  ///< Identity in the job.
  Role role = Role::kWorker;
  std::uint32_t rank = 0;
  std::uint32_t shard = 0;
  std::uint64_t job = 0;      ///< Whose it was, if a file says so: Welcome.job.
  std::uint64_t dropped = 0;  ///< Records for which there was no room.
  std::vector<TraceRecord> records;

  /// "worker 1", "server 0 shard 2".
  std::string name() const;
};

struct Trace {
  std::vector<Node> nodes;
  std::map<std::uint32_t, std::string> tensors;  ///< Names by identity.

  std::string tensor_name(std::uint32_t tensor) const;
  std::size_t records() const;
};

/// True if a record is one that a loop could have noted: what comes from outside is checked.
bool sensible(const TraceRecord& record);
bool sensible(const TraceNote& note);

/// Gives the spans of a note to `take`, one or two.
template <typename Take>
void unfold(const TraceNote& note, const Take& take) {
  const TraceRecord& span = note.span;
  if (note.since_ns != 0) {
    TraceRecord before = span;
    before.begin_ns = note.since_ns;
    if (span.kind == TraceKind::kExchange) {
      before.kind = TraceKind::kPullWait;
    } else {
      before.kind = span.kind == TraceKind::kSend ? TraceKind::kQueueWait : TraceKind::kReceive;
      before.end_ns = span.begin_ns;
    }
    take(before);
  }
  take(span);
}

/// How a frame's kind on the wire is named here; the numbers of van/wire/header.h.
inline constexpr std::uint8_t kPushFrame = 2;
inline constexpr std::uint8_t kValueFrame = 4;

/// One worker's round on one part: what links push, sum, value and the end of waiting.
struct FlowKey {
  std::uint32_t worker = 0;
  std::uint32_t tensor = 0;
  std::uint32_t part = 0;
  std::uint64_t round = 0;
  friend auto operator<=>(const FlowKey&, const FlowKey&) = default;  // NOLINT: not a null.
};
/// Of a push, a sum or a value that `node` noted.
FlowKey flow_of(const Node& node, const TraceRecord& record);

}  // namespace stretto::trace

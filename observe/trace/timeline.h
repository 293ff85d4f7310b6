// SPDX-License-Identifier: Apache-2.0
// A collected trace: the records of each node, and the names of tensors.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "common/config/config.h"
#include "observe/trace/trace.h"

namespace stretto::trace {

/// Limits of one trace.
inline constexpr std::size_t kMostNodes = 2 * kMaxNodes;
inline constexpr std::size_t kMostTensors = std::size_t{1} << 20;
inline constexpr std::size_t kMostRecords = std::size_t{1} << 24;

struct Node {
  std::uint32_t node = 0;  ///< Identity in the job.
  Role role = Role::kWorker;
  std::uint32_t rank = 0;
  std::uint32_t shard = 0;
  std::uint64_t job = 0;      ///< The job, if a file has it: Welcome.job.
  std::uint64_t dropped = 0;  ///< Records dropped for lack of room.
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

/// True if a loop could have made the record: input from files is checked.
bool sensible(const TraceRecord& record);
bool sensible(const TraceNote& note);

/// Calls `take` for the spans of a note, one or two.
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

/// Kinds of frames, with the numbers of van/wire/header.h.
inline constexpr std::uint8_t kPushFrame = 2;
inline constexpr std::uint8_t kValueFrame = 4;

/// One worker's round on one part: the key that links push, sum, value and the end of the wait.
struct FlowKey {
  std::uint32_t worker = 0;
  std::uint32_t tensor = 0;
  std::uint32_t part = 0;
  std::uint64_t round = 0;
  friend auto operator<=>(const FlowKey&, const FlowKey&) = default;  // NOLINT: not a null.
};
/// The key of a push, a sum or a value that `node` recorded.
FlowKey flow_of(const Node& node, const TraceRecord& record);

}  // namespace stretto::trace

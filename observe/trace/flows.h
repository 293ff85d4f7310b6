// SPDX-License-Identifier: Apache-2.0
// What became of each worker's round on each part, joined over nodes, and which iteration of the
// program it belongs to. The ground that analysis stands on.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "observe/trace/timeline.h"

namespace stretto::trace {

/// One share on its way, in nanoseconds of a trace whose clocks agree. Nothing: not noted.
struct Flow {
  FlowKey key;
  std::size_t server = 0;  ///< Its place in trace.nodes, if anything there was noted.
  std::int32_t priority = 0;
  std::uint32_t bytes = 0;
  std::optional<std::int64_t> encoding;  ///< The codec begins at the worker, if there is one;
  std::optional<std::int64_t> queued;    ///< queued there,
  std::optional<std::int64_t> sent;      ///< first slice submitted,
  std::optional<std::int64_t> arrived;   ///< whole at the server,
  std::optional<std::int64_t> summed;    ///< added there.
  std::optional<std::int64_t> ready;     ///< The value waits to leave,
  std::optional<std::int64_t> answered;  ///< leaves,
  std::optional<std::int64_t> came;      ///< is whole at the worker,
  std::optional<std::int64_t> decoded;   ///< and has been decoded, if there is a codec.

  /// When all was over; nothing if that was not noted.
  std::optional<std::int64_t> end() const { return decoded ? decoded : came ? came : summed; }
};

struct Span {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};
using Spans = std::vector<Span>;

/// Sorted and joined where they touch.
Spans joined(Spans spans);
std::int64_t length_of(const Spans& spans);
/// The part of joined spans that lies in others.
Spans common_of(const Spans& a, const Spans& b);
/// The part of joined spans that lies in no other.
Spans without(const Spans& spans, const Spans& others);

/// One iteration of one worker: from the last value of the one before to its own last value.
struct Iteration {
  std::uint64_t number = 0;  ///< The round of the first tensor pushed in it.
  std::size_t worker = 0;    ///< Its place in trace.nodes.
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::vector<const Flow*> flows;
  Spans compute;  ///< Told, or between waits.
  Spans input;
  Spans staging;  ///< Codecs and copies to and from devices, while it did neither.
};

/// What is known of a node's loop.
struct Turning {
  Spans stalls;  ///< It did not turn.
  Spans busy;    ///< Of a server: it took, summed and sent without a pause.
};

struct Flows {
  std::map<FlowKey, Flow> all;
  std::vector<Turning> turning;  ///< Of each node, by its place in trace.nodes.
  /// Complete ones, by number and then worker.
  std::map<std::uint64_t, std::vector<Iteration>> iterations;
};

Flows flows_of(const Trace& trace);

}  // namespace stretto::trace

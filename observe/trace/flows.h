// SPDX-License-Identifier: Apache-2.0
// Joins the records of all nodes into the path of each contribution, and assigns paths to
// iterations of the program. The analysis is based on them.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "observe/trace/timeline.h"

namespace stretto::trace {

/// The path of one contribution: times in ns on aligned clocks. None: not recorded.
struct Flow {
  FlowKey key;
  std::size_t server = 0;  ///< Index in trace.nodes, if the server recorded anything.
  std::int32_t priority = 0;
  std::uint32_t bytes = 0;
  std::optional<std::int64_t> encoding;  ///< Start of the codec at the worker, if any;
  std::optional<std::int64_t> queued;    ///< queued there,
  std::optional<std::int64_t> sent;      ///< first slice submitted,
  std::optional<std::int64_t> arrived;   ///< whole at the server,
  std::optional<std::int64_t> summed;    ///< added there.
  std::optional<std::int64_t> ready;     ///< The value waits to leave,
  std::optional<std::int64_t> answered;  ///< leaves,
  std::optional<std::int64_t> came;      ///< is whole at the worker,
  std::optional<std::int64_t> decoded;   ///< and has been decoded, if there is a codec.

  /// The end of the exchange; none if not recorded.
  std::optional<std::int64_t> end() const { return decoded ? decoded : came ? came : summed; }
};

struct Span {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};
using Spans = std::vector<Span>;

/// Sorts spans and joins spans that touch.
Spans joined(Spans spans);
std::int64_t length_of(const Spans& spans);
/// The parts of the joined spans `a` that lie in `b`.
Spans common_of(const Spans& a, const Spans& b);
/// The parts of the joined spans that lie outside `others`.
Spans without(const Spans& spans, const Spans& others);

/// One iteration of one worker: from the last value of the iteration before to its own last value.
struct Iteration {
  std::uint64_t number = 0;  ///< The round of the first tensor pushed in it.
  std::size_t worker = 0;    ///< Index in trace.nodes.
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::vector<const Flow*> flows;
  Spans compute;  ///< Reported by the program, or between waits.
  Spans input;
  Spans staging;  ///< Codecs and device copies outside of compute and input.
};

/// The activity of a node's loop.
struct Turning {
  Spans stalls;  ///< The loop did not iterate.
  Spans busy;    ///< Of a server: it received, summed and sent without a pause.
};

struct Flows {
  std::map<FlowKey, Flow> all;
  std::vector<Turning> turning;  ///< By index in trace.nodes.
  /// Complete iterations, by number and then worker.
  std::map<std::uint64_t, std::vector<Iteration>> iterations;
};

Flows flows_of(const Trace& trace);

}  // namespace stretto::trace

// SPDX-License-Identifier: Apache-2.0
// What a trace says: how well computing and communicating overlap, what each iteration was waiting
// for, and whose doing that was.
#pragma once

#include <array>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "observe/trace/clocks.h"
#include "observe/trace/flows.h"

namespace stretto::trace {

/// What an iteration can be waiting for.
enum class Cause : std::uint8_t {
  kCompute,      ///< A worker computes.
  kInput,        ///< A worker reads input.
  kPush,         ///< A share waits in a worker's send queue, or is on its way.
  kServerQueue,  ///< A share waits at a server, or a server does not run.
  kPull,         ///< A value is on its way.
  kStaging,      ///< A worker encodes, decodes, or copies to or from a device.
};
inline constexpr std::size_t kCauses = 6;
std::string_view name_of(Cause cause);

/// In place of a node's place in trace.nodes.
inline constexpr std::size_t kNobody = std::numeric_limits<std::size_t>::max();

/// A piece of a critical path, oldest first.
struct Segment {
  Cause cause = Cause::kCompute;
  std::size_t node = 0;  ///< Whose: a worker's computing, a shard's queue, the link of either.
  /// Of pushing and pulling, if only what goes between this shard and the worker that is `node` was
  /// slow; kNobody: all of the link of `node`.
  std::size_t peer = kNobody;
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

struct IterationReport {
  std::uint64_t number = 0;
  std::int64_t makespan_ns = 0;  ///< Of the worker that ended last; and so are the next three.
  std::int64_t compute_ns = 0;
  std::int64_t communication_ns = 0;  ///< Union of the times that parts were in flight.
  std::int64_t overlap_ns = 0;        ///< Of the two.
  /// TicTac's E: 1 if computing and communicating overlap as well as they could, 0 if not at all.
  double efficiency = 0;
  std::vector<Segment> critical;
  /// What held it up beyond what was usual for the others in it: who, how, and how long.
  Cause cause = Cause::kCompute;
  std::size_t culprit = 0;
  std::size_t peer = kNobody;  ///< As of a segment.
  std::int64_t excess_ns = 0;
};

/// The end of a trace in which neither pushes nor values moved.
struct Standstill {
  enum class What : std::uint8_t {
    kPush,      ///< Sums lack the pushes of these workers,
    kInFlight,  ///< or wait for some that have not reached the server.
    kAnswer,    ///< All have been pushed, and the server sends these workers no values,
    kValue,     ///< or values have not reached them.
  };
  struct Wait {
    What what = What::kPush;
    std::size_t server = kNobody;
    std::vector<std::size_t> workers;
    std::size_t tensors = 0;
  };
  std::int64_t ns = 0;   ///< 0: the job went on.
  bool nothing = false;  ///< Nothing moved in all of the trace.
  std::vector<Wait> waits;
};

struct Analysis {
  std::vector<IterationReport> iterations;
  Standstill standstill;
  std::array<std::int64_t, kCauses> critical_ns{};  ///< Of all critical paths, by cause.
  std::array<std::int64_t, kCauses> excess_ns{};
  /// The cause and node with the most excess in all.
  Cause cause = Cause::kCompute;
  std::size_t culprit = 0;
  std::size_t peer = kNobody;
  std::uint64_t frames = 0;            ///< Pushes and values that waited and left.
  std::uint64_t order_violations = 0;  ///< Of them, left while a more urgent one waited beside.
  std::uint64_t preemptions = 0;
  std::uint64_t dropped = 0;
};

Analysis analyse(const Trace& trace);

/// A standstill is several times as long as an iteration usually is, and a second at least.
Standstill standstill_of(const Trace& trace, const Flows& flows, std::int64_t usual_ns);

/// The chain that the worker that ended last had to wait for: from its last value back over the
/// share that completed the round, to the computing before it. Sorted by time.
std::vector<Segment> critical_path(const std::vector<Iteration>& workers,
                                   const std::vector<Turning>& turning);

}  // namespace stretto::trace

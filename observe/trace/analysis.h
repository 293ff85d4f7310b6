// SPDX-License-Identifier: Apache-2.0
// Analysis of a trace: how well computation and communication overlap, what each iteration waited
// for, and which node caused the wait.
#pragma once

#include <array>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "observe/trace/clocks.h"
#include "observe/trace/flows.h"

namespace stretto::trace {

/// The causes of an iteration's wait.
enum class Cause : std::uint8_t {
  kCompute,      ///< A worker computes.
  kInput,        ///< A worker reads input.
  kPush,         ///< A contribution is in a worker's send queue or in flight.
  kServerQueue,  ///< A contribution waits at a server, or a server is not running.
  kPull,         ///< A value is in flight.
  kStaging,      ///< A worker encodes, decodes, or copies to or from a device.
};
inline constexpr std::size_t kCauses = 6;
std::string_view name_of(Cause cause);

/// No node, in place of an index into trace.nodes.
inline constexpr std::size_t kNobody = std::numeric_limits<std::size_t>::max();

/// A piece of a critical path, oldest first.
struct Segment {
  Cause cause = Cause::kCompute;
  std::size_t node = 0;  ///< The computing worker, the queueing shard, or an end of the link.
  /// For kPush and kPull: the shard, if only its traffic with the worker `node` was slow; kNobody:
  /// the whole link of `node`.
  std::size_t peer = kNobody;
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

struct IterationReport {
  std::uint64_t number = 0;
  std::int64_t makespan_ns = 0;  ///< Of the worker that ended last, as the next three.
  std::int64_t compute_ns = 0;
  std::int64_t communication_ns = 0;  ///< Union of the times that parts were in flight.
  std::int64_t overlap_ns = 0;        ///< Of computation and communication.
  /// TicTac's E: 1 if computation and communication overlap as well as possible, 0 if not at all.
  double efficiency = 0;
  std::vector<Segment> critical;
  /// The delay beyond the other workers' usual time: its cause, node and duration.
  Cause cause = Cause::kCompute;
  std::size_t culprit = 0;
  std::size_t peer = kNobody;  ///< As in Segment.
  std::int64_t excess_ns = 0;
};

/// A stall at the end of a trace: neither pushes nor values moved.
struct Standstill {
  enum class What : std::uint8_t {
    kPush,      ///< The sums lack pushes of these workers,
    kInFlight,  ///< or pushes that have not reached the server.
    kAnswer,    ///< All pushes arrived; the server sends these workers no values,
    kValue,     ///< or the values have not reached them.
  };
  struct Wait {
    What what = What::kPush;
    std::size_t server = kNobody;
    std::vector<std::size_t> workers;
    std::size_t tensors = 0;
  };
  std::int64_t ns = 0;   ///< 0: no stall.
  bool nothing = false;  ///< Nothing moved in all of the trace.
  std::vector<Wait> waits;
};

struct Analysis {
  std::vector<IterationReport> iterations;
  Standstill standstill;
  std::array<std::int64_t, kCauses> critical_ns{};  ///< Of all critical paths, by cause.
  std::array<std::int64_t, kCauses> excess_ns{};
  /// The cause and node with the largest total excess.
  Cause cause = Cause::kCompute;
  std::size_t culprit = 0;
  std::size_t peer = kNobody;
  std::uint64_t frames = 0;            ///< Pushes and values that were queued and sent.
  std::uint64_t order_violations = 0;  ///< Sent while a more urgent frame was queued.
  std::uint64_t preemptions = 0;
  std::uint64_t dropped = 0;
};

Analysis analyse(const Trace& trace);

/// The stall at the end: several times an iteration's usual duration, and at least a second.
Standstill standstill_of(const Trace& trace, const Flows& flows, std::int64_t usual_ns);

/// The chain of waits of the worker that ended last: from its last value, over the contribution
/// that completed the round, to the computation before. Sorted by time.
std::vector<Segment> critical_path(const std::vector<Iteration>& workers,
                                   const std::vector<Turning>& turning);

}  // namespace stretto::trace

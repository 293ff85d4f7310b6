// SPDX-License-Identifier: Apache-2.0
// PathLiveness: distinguishes a dead path from a peer that is only busy or stopped.
//
// It uses the peer's kernel, not its program, as evidence. A kernel acknowledges data also for a
// program that computes, waits in a debugger or is stopped. So only overdue acknowledgements count,
// and they say something only about the path (RFC 793, RFC 1122 4.2.3.6). Heartbeats detect dead
// programs.
#pragma once

#include <cstdint>

#include "stretto/status.h"
#include "stretto/types.h"

namespace stretto {

/// What this end of a path has observed of it, at one moment.
struct PathSample {
  std::uint64_t acked_bytes = 0;  ///< Bytes that we sent and the peer acknowledged, in total.
  bool unacked = false;           ///< Some are in transit, and the peer has room for them.
  std::uint32_t unanswered = 0;   ///< Consecutive retransmissions or probes without an answer.
  Duration silence{};             ///< Time since anything arrived.
  /// Identifies a message that has arrived in part, by its position in the stream. 0: there is
  /// none, or more can be read.
  std::uint64_t begun_at = 0;
};

/// The liveness of one link. Thread: loop. Pure: the caller passes in samples and times.
class PathLiveness {
 public:
  /// kTimeout if the path has been dead for `limit`, in one of three cases. Nothing has arrived in
  /// that time though we probed. Or data arrives but none of ours is acknowledged, as where large
  /// packets are lost. Or a message has begun and its rest does not arrive, as after a corrupted
  /// length. Must be called at least every 2 s; a longer gap means that this process was suspended,
  /// and restarts the measurement.
  Status look(const PathSample& signs, Time now, Duration limit);

  /// The interval between calls of look(), for a limit.
  static Duration interval(Duration limit);
  /// Unanswered probes from which silence counts.
  static constexpr std::uint32_t kLeastUnanswered = 2;

 private:
  Time looked_;
  Time due_since_;  // Nothing was in transit before, or some of it was acknowledged.
  std::uint64_t acked_bytes_ = 0;
  Time begun_since_;
  std::uint64_t begun_at_ = 0;
};

}  // namespace stretto

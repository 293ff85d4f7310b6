// SPDX-License-Identifier: Apache-2.0
// PathLiveness: tells a path that has fallen silent from a far end that is only busy or stopped.
//
// What it goes by is not what the far end's program says but what its kernel acknowledges: a kernel
// does that for a program that computes, waits in a debugger or has been stopped as for any other.
// So only what has been sent and must have been acknowledged by now is a sign, and only of the path
// (RFC 793, RFC 1122 4.2.3.6). Whether a program still lives is for heartbeats to tell.
#pragma once

#include <cstdint>

#include "stretto/status.h"
#include "stretto/types.h"

namespace stretto {

/// What the near end of a path has seen of it, at one moment.
struct PathSample {
  std::uint64_t acked_bytes = 0;  ///< Of ours, acknowledged since the beginning.
  bool unacked = false;           ///< Some are on their way, and the far end has room for them.
  std::uint32_t unanswered = 0;   ///< Times in a row that we asked again and got no answer.
  Duration silence{};             ///< Since anything at all came.
  /// Of a message of which a beginning has come: so many bytes of all; 0: there is none, or more
  /// has yet to be read.
  std::uint64_t begun_at = 0;
};

/// Of one link. Thread: loop. Pure: it is shown signs and times.
class PathLiveness {
 public:
  /// kTimeout if the path has been dead for `limit`: either nothing has come in that time,
  /// though we asked; or other things come, but nothing of ours is acknowledged, as where large
  /// packets are lost and small ones are not; or a message has begun and its rest does not come,
  /// as where a length was corrupted. Looked at least every 2 s; after a longer pause it
  /// begins anew, since it was us who stood still.
  Status look(const PathSample& signs, Time now, Duration limit);

  /// How often is looked, for a limit.
  static Duration interval(Duration limit);
  /// Repetitions without an answer that make silence mean something.
  static constexpr std::uint32_t kLeastUnanswered = 2;

 private:
  Time looked_;
  Time due_since_;  // Nothing was on its way before, or some of it was acknowledged.
  std::uint64_t acked_bytes_ = 0;
  Time begun_since_;
  std::uint64_t begun_at_ = 0;
};

}  // namespace stretto

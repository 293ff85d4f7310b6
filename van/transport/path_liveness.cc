// SPDX-License-Identifier: Apache-2.0
// The three cases of a dead path.
#include "van/transport/path_liveness.h"

#include <fmt/core.h>

#include <algorithm>

namespace stretto {
namespace {

constexpr Duration kStoodStill = 2s;
constexpr int kLooks = 10;  // Within the limit.

double in_seconds(Duration time) { return std::chrono::duration<double>(time).count(); }

}  // namespace

Duration PathLiveness::interval(Duration limit) {
  return std::clamp<Duration>(limit / kLooks, 10ms, 500ms);
}

Status PathLiveness::look(const PathSample& signs, Time now, Duration limit) {
  const bool anew = now - looked_ > kStoodStill;
  looked_ = now;
  if (anew || !signs.unacked || signs.acked_bytes != acked_bytes_) {
    acked_bytes_ = signs.acked_bytes;
    due_since_ = now;
  }
  if (anew || signs.begun_at == 0 || signs.begun_at != begun_at_) {
    begun_at_ = signs.begun_at;
    begun_since_ = now;
  }
  if (anew) return {};
  if (signs.silence >= limit && signs.unanswered >= kLeastUnanswered) {
    return {Code::kTimeout,
            fmt::format("nothing has come over the connection for {:.1f} s, not even "
                        "acknowledgments of the far end's kernel; look at the network between the "
                        "two hosts",
                        in_seconds(signs.silence))};
  }
  if (signs.unacked && now - due_since_ >= limit) {
    return {Code::kTimeout,
            fmt::format("nothing that was sent over the connection has been acknowledged by the "
                        "far end's kernel for {:.1f} s, though something came {:.1f} s ago; are "
                        "large packets lost between the two hosts?",
                        in_seconds(now - due_since_), in_seconds(signs.silence))};
  }
  if (begun_at_ != 0 && now - begun_since_ >= limit) {
    return {
        Code::kLinkBroken,
        fmt::format(
            "a message has come in part, and not its rest for {:.1f} s; was its length changed?",
            in_seconds(now - begun_since_))};
  }
  return {};
}

}  // namespace stretto

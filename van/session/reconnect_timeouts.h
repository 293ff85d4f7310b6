// SPDX-License-Identifier: Apache-2.0
// ReconnectTimeouts: limits of a link's silence, and of a session without a link. All follow from
// the silence after which a node counts as failed, so that their order is fixed:
//
//   attempt < grace < brief < path < patience < dead after < silence
#pragma once

#include <algorithm>
#include <chrono>

#include "common/check.h"
#include "common/config/config.h"
#include "stretto/types.h"

namespace stretto {

struct ReconnectTimeouts {
  /// A path that is dead this long loses its link; zero: the transport's choice.
  Duration path{};
  /// How long a session waits for a reconnect before it ends. Zero: it ends with its link.
  Duration patience{};
  /// A detached session ends when none of its frames was acknowledged for this long, before and
  /// after its link ended: a silent path uses up part of the patience.
  Duration silence = Duration::max();
  /// How long a listener's address must refuse connections until the listener counts as gone.
  Duration grace = Duration::max();
  /// How long to wait for the peer to reconnect when no other source reports its death. A
  /// connection may end at one end only: the other end detects it when it sends, at the latest a
  /// heartbeat.
  Duration brief = Duration::max();
  /// An unanswered attempt to connect is replaced after this time.
  Duration attempt = Duration::max();
};

/// `dead_after`: JobSettings::dead_after. A link is dropped at half of it, because TCP retransmits
/// ever more rarely: a reconnect succeeds as soon as the network is back.
inline ReconnectTimeouts link_limits(Duration dead_after) {
  const Duration limit =
      std::clamp<Duration>(dead_after, std::chrono::milliseconds(1), Duration::max() / 2);
  const ReconnectTimeouts limits{.path = limit / 2,
                                 .patience = limit / 5 * 4,
                                 .silence = limit / 10 * 11,
                                 .grace = limit / 10,
                                 .brief = limit / 20 * 3,
                                 .attempt = limit / 24};
  STRETTO_CHECK(limits.attempt < limits.grace && limits.grace < limits.brief &&
                limits.brief < limits.path && limits.path < limits.patience &&
                limits.patience < limit && limit < limits.silence);
  return limits;
}

/// How long a member waits for the scheduler's decision on a reported break. The scheduler may wait
/// for the cause, such as a peer's exit, for more than `brief`.
inline Duration verdict_for(Duration dead_after) {
  return std::max<Duration>(std::chrono::seconds(3), dead_after / 10 * 3);
}

/// Limits of a job; none without reconnects.
inline ReconnectTimeouts limits_for(const Config& config) {
  return config.remakes_links ? link_limits(config.job.dead_after) : ReconnectTimeouts{};
}

}  // namespace stretto

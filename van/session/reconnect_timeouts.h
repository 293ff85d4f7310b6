// SPDX-License-Identifier: Apache-2.0
// ReconnectTimeouts: how long a link may be silent, and a session be without a link. All follow
// from one number, the silence after which a node is lost, so that their order is always the same:
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
  /// A path that has been dead for so long carries its link no more; zero: the transport's choice.
  Duration path{};
  /// A session waits so long for a new link, and then ends. Zero: it ends with its link.
  Duration patience{};
  /// A session that waits has ended when nothing that it sent has been answered for so long, before
  /// its link ended and since: a path that falls silent has used up part of the patience.
  Duration silence = Duration::max();
  /// Nobody listens where somebody did for so long until that is believed.
  Duration grace = Duration::max();
  /// So long the near end of an ended connection hopes for a far end that would connect anew, where
  /// nobody else will tell that this has gone. A connection may end for one end only: the other one
  /// finds out when it says something, at the latest with its next heartbeat.
  Duration brief = Duration::max();
  /// An attempt to connect that has had no answer for so long is given up for another.
  Duration attempt = Duration::max();
};

/// `dead_after`: JobSettings::dead_after. A link is given up at half of it, because TCP asks ever
/// more rarely: who connects anew is through as soon as the network is.
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

/// So long a member that has reported a break waits for the scheduler's decision, which may wait
/// for the cause, such as that the far end's process has gone: for more than `brief`.
inline Duration verdict_for(Duration dead_after) {
  return std::max<Duration>(std::chrono::seconds(3), dead_after / 10 * 3);
}

/// For who is told this; none where links are not made anew.
inline ReconnectTimeouts limits_for(const Config& config) {
  return config.remakes_links ? link_limits(config.job.dead_after) : ReconnectTimeouts{};
}

}  // namespace stretto

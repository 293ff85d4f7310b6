// SPDX-License-Identifier: Apache-2.0
// PartedSessions: detached sessions that wait for a reconnect: which end connects, when, and for
// how long.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "stretto/status.h"
#include "van/session/reconnect_timeouts.h"
#include "van/transport/transport.h"

namespace stretto {

/// The id of its first link identifies a session. Thread: loop. Pure: it gets times as arguments.
class PartedSessions {
 public:
  explicit PartedSessions(const ReconnectTimeouts& limits) : limits_(limits) {}
  void set_limits(const ReconnectTimeouts& limits) { limits_ = limits; }
  bool has_patience() const { return limits_.patience > Duration::zero(); }
  const ReconnectTimeouts& limits() const { return limits_; }
  /// Differs between the nodes of a job, so that their attempts do not coincide.
  void set_spread(std::uint64_t seed) { seed_ = seed; }

  /// The session's link broke. `ours`: this end reconnects, immediately and then periodically.
  /// Waits for at most `patience`. If it is detached again before it has recovered, the first
  /// deadline stays.
  void part(LinkId session, bool ours, const Status& why, Duration patience, Time now);
  /// The session has a new link; returns since when and why it had none. If that link breaks before
  /// all unacknowledged frames have arrived, the old deadline stays.
  struct Apart {
    Time since;
    Status why;
  };
  std::optional<Apart> join(LinkId session);
  /// Ends the wait; for reason `why`, if set.
  void give_up(LinkId session, const Status& why = {});
  /// Changes the wait to `patience` from the link's end. Sessions whose links fell silent keep
  /// their own deadline.
  void wait_for(LinkId session, Duration patience);
  /// Detached, or reconnected and not all unacknowledged frames have arrived.
  bool has(LinkId session) const { return parted_.contains(session); }
  /// All unacknowledged frames have arrived over the new link; or the session has ended.
  void remove(LinkId session) { parted_.erase(session); }
  bool empty() const { return parted_.empty(); }

  /// Sessions that should try a new link now.
  std::vector<LinkId> to_connect(Time now);
  /// A link is being opened for the session; 0: no link can be opened now.
  void attempted(LinkId session, LinkId attempt);
  /// The session that a link is being opened for, or 0.
  LinkId attempted_by(LinkId attempt) const;
  /// That attempt failed. `refused`: no process listens. Refusals throughout the grace, and at its
  /// end, end the wait. An attempt already in progress may still succeed.
  void failed(LinkId attempt, bool refused, Time now);
  /// Attempts that have timed out.
  std::vector<LinkId> late(Time now) const;
  LinkId attempt_of(LinkId session) const;
  /// Sessions, and the links being opened for them.
  std::vector<std::pair<LinkId, LinkId>> attempts() const;

  struct Lost {
    LinkId session = 0;
    Status why;  ///< Why the first link broke.
  };
  /// Sessions that have timed out.
  std::vector<Lost> lost(Time now) const;
  Time next_due() const;

 private:
  struct Parted {
    bool ours = false;
    bool apart = true;  // Without a link.
    Status why;
    Time since;
    Time until;
    Time next_try;
    std::uint32_t tries = 0;
    LinkId attempt = 0;
    Time attempt_until = Time::max();
    Time refused_since = Time::max();
  };
  Duration spread(LinkId session, std::uint32_t tries) const;

  ReconnectTimeouts limits_;
  std::uint64_t seed_ = 0;  // 0: no spread.
  std::map<LinkId, Parted> parted_;
};

}  // namespace stretto

// SPDX-License-Identifier: Apache-2.0
// PartedSessions: sessions whose link has broken and that wait for another: who is to connect anew,
// when, and how long that may take.
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

/// Sessions go by the id of their first link. Thread: loop. Pure: it is told times.
class PartedSessions {
 public:
  explicit PartedSessions(const ReconnectTimeouts& limits) : limits_(limits) {}
  void set_limits(const ReconnectTimeouts& limits) { limits_ = limits; }
  bool has_patience() const { return limits_.patience > Duration::zero(); }
  const ReconnectTimeouts& limits() const { return limits_; }
  /// Different at each node of a job, so that not all try again at the same moments.
  void set_spread(std::uint64_t seed) { seed_ = seed; }

  /// Its link broke. `ours`: this end connects anew, at once and then now and then. It waits for
  /// `patience` at most. One that has waited before goes on waiting for as long as it was given
  /// then.
  void part(LinkId session, bool ours, const Status& why, Duration patience, Time now);
  /// It has a new link: since when it had none, and why. If that breaks before all that had been on
  /// its way has come, no time was won.
  struct Apart {
    Time since;
    Status why;
  };
  std::optional<Apart> join(LinkId session);
  /// It need not be waited for any more; for that reason, if there is one.
  void give_up(LinkId session, const Status& why = {});
  /// From now on it is waited for as if that had been its patience when its link ended. Those whose
  /// links have fallen silent have their own time.
  void wait_for(LinkId session, Duration patience);
  /// Its link broke, and not all that had been on its way has come since.
  bool has(LinkId session) const { return parted_.contains(session); }
  /// What had been on its way has come over the new link; or the session has ended.
  void remove(LinkId session) { parted_.erase(session); }
  bool empty() const { return parted_.empty(); }

  /// Those for which a new link should be tried now.
  std::vector<LinkId> to_connect(Time now);
  /// A link is being made for it; 0: it cannot be now.
  void attempted(LinkId session, LinkId attempt);
  /// The session for which a link is being made, or 0.
  LinkId attempted_by(LinkId attempt) const;
  /// That link was in vain. `refused`: nobody listens there; who hears that throughout the grace,
  /// and at its end, waits no longer. An attempt on its way meanwhile may still find somebody.
  void failed(LinkId attempt, bool refused, Time now);
  /// Attempts that have had no answer for too long.
  std::vector<LinkId> late(Time now) const;
  LinkId attempt_of(LinkId session) const;
  /// Sessions, and the links that are being made for them.
  std::vector<std::pair<LinkId, LinkId>> attempts() const;

  struct Lost {
    LinkId session = 0;
    Status why;  ///< That the first link broke.
  };
  /// Those that have waited long enough.
  std::vector<Lost> lost(Time now) const;
  Time next_due() const;

 private:
  struct Parted {
    bool ours = false;
    bool apart = true;  // It has no link.
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

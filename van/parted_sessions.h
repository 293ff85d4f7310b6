// SPDX-License-Identifier: Apache-2.0
// PartedSessions: sessions whose link has broken and that wait for another: who is to connect anew,
// when, and how long that may take.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "stretto/status.h"
#include "van/transport.h"

namespace stretto {

/// Sessions go by the id of their first link. Thread: loop. Pure: it is told times.
class PartedSessions {
 public:
  /// `patience`: so long a session waits; zero: none does.
  explicit PartedSessions(Duration patience) : patience_(patience) {}
  bool has_patience() const { return patience_ > Duration::zero(); }

  /// Its link broke. `ours`: this end connects anew, at once and then now and then. One that has
  /// waited before goes on waiting for as long as it was given then.
  void part(LinkId session, bool ours, const Status& why, Time now);
  /// It has a new link. If that breaks before anything has come over it, no time was won.
  void join(LinkId session);
  /// Something has come over the new link; or the session has ended.
  void remove(LinkId session) {
    if (!parted_.empty()) parted_.erase(session);
  }

  /// Those for which a new link should be tried now.
  std::vector<LinkId> to_connect(Time now);
  /// A link is being made for it; 0: it cannot be now.
  void attempted(LinkId session, LinkId attempt);
  /// The session for which a link is being made, or 0.
  LinkId attempted_by(LinkId attempt) const;
  /// That link was in vain.
  void failed(LinkId attempt) { attempted(attempted_by(attempt), 0); }
  LinkId attempt_of(LinkId session) const;

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
    Time until;
    Time next_try;
    LinkId attempt = 0;
  };

  const Duration patience_;
  std::map<LinkId, Parted> parted_;
};

}  // namespace stretto

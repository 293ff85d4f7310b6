// SPDX-License-Identifier: Apache-2.0
// Connector: the attempts of this endpoint to be let in elsewhere, each tried again and again until
// the far end answers or its time is over.
#pragma once

#include <functional>
#include <list>
#include <string>

#include "common/clock.h"
#include "stretto/rpc.h"
#include "van/engine/van.h"

namespace stretto::rpc {

/// Thread: loop. Ends every attempt once, by calling what came with it.
class Connector {
 public:
  using Connected = std::function<void(const Result<Peer>&)>;

  Connector(Van& van, const Clock& clock, std::string token)
      : van_(van), clock_(clock), token_(std::move(token)) {}

  /// `done` hears once of the link or of why there is none.
  void connect(const std::string& address, Duration timeout, Connected done);
  /// True while the far end of `link` has not answered.
  bool awaits(LinkId link) { return find(link) != attempts_.end(); }
  /// Of a link that is awaited: the address that it leads to.
  const std::string& address_of(LinkId link);
  /// The far end of a link that is awaited has answered, with this.
  void end(LinkId link, const Result<Peer>& outcome);
  /// The link has ended; it is tried again if it was awaited.
  void on_broken(LinkId link, const Status& why);

  /// Tries again what is due, and ends what is past its timeout.
  void tick();
  Time next_due() const;
  void end_all(const Status& why);

 private:
  struct Attempt {
    std::string address;
    Duration timeout;
    Time deadline;
    Time retry_at;
    Connected done;
    LinkId link = 0;  // 0: between two attempts.
    Status last_break;
  };
  using Attempts = std::list<Attempt>;

  Attempts::iterator find(LinkId link);
  void start(Attempts::iterator attempt);
  void finish(Attempts::iterator attempt, const Result<Peer>& outcome);

  Van& van_;
  const Clock& clock_;
  const std::string token_;
  Attempts attempts_;
};

}  // namespace stretto::rpc

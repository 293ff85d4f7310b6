// SPDX-License-Identifier: Apache-2.0
// Connector: this endpoint's attempts to connect to peers, each retried until the peer answers or
// its timeout expires.
#pragma once

#include <functional>
#include <list>
#include <string>

#include "common/clock.h"
#include "stretto/rpc.h"
#include "van/engine/van.h"

namespace stretto::rpc {

/// Thread: loop. Ends each attempt exactly once, by a call of its `done`.
class Connector {
 public:
  using Connected = std::function<void(const Result<Peer>&)>;

  Connector(Van& van, const Clock& clock, std::string token)
      : van_(van), clock_(clock), token_(std::move(token)) {}

  /// `done` gets the link or the error, once.
  void connect(const std::string& address, Duration timeout, Connected done);
  /// True until the peer of `link` has answered.
  bool awaits(LinkId link) { return find(link) != attempts_.end(); }
  /// The address of a pending link's peer.
  const std::string& address_of(LinkId link);
  /// The peer of a pending link has answered with this outcome.
  void end(LinkId link, const Result<Peer>& outcome);
  /// The link has ended; a pending one is retried.
  void on_broken(LinkId link, const Status& why);

  /// Retries attempts that are due, and ends those whose timeout has expired.
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

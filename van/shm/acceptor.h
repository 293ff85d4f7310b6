// SPDX-License-Identifier: Apache-2.0
// Acceptor: who connects to us: the listener, and the strangers that have not said hello yet.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "common/log_limiter.h"
#include "van/shm/pending_peers.h"
#include "van/shm/shared_rings.h"
#include "van/transport/epoll_set.h"
#include "van/transport/poll_turns.h"

namespace stretto::shm {

/// Thread: loop.
class Acceptor {
 public:
  /// Makes a link of one who has said hello.
  using Admit = std::function<Status(LinkId, std::shared_ptr<Line>)>;
  /// The watch tells of the listener by this, and of strangers by the ids of their links to be.
  static constexpr std::uint64_t kToken = EpollSet::kWakeToken - 1;

  /// All but `admit` outlive it.
  Acceptor(const ShmOptions& options, EpollSet& watch, LinkIds& ids, Admit admit)
      : watch_(watch), ids_(ids), admit_(std::move(admit)), strangers_(options) {}

  Status listen(std::string name);
  bool listens() const { return listener_.is_open(); }
  /// Where, once it does.
  const std::string& name() const { return name_; }

  /// Takes those who have connected. No more than `room` become links.
  void accept(std::size_t room);
  /// There is something to hear of this one, if it is a stranger.
  void hear(LinkId id);
  /// Listens again after a pause, and hangs up on who has been silent for too long.
  void tick();
  /// True while tick() may have something to do.
  bool is_timed() const { return !strangers_.empty() || listen_again_ != Time(); }

 private:
  void pause(int error);
  bool greet(LinkId id, Descriptor socket);

  EpollSet& watch_;
  LinkIds& ids_;
  const Admit admit_;
  PendingPeers strangers_;
  std::string name_;
  Descriptor listener_;
  Time listen_again_;  // Zero: listening.
  LogLimiter lack_;
};

}  // namespace stretto::shm

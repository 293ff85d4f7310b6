// SPDX-License-Identifier: Apache-2.0
// Acceptor: the listener, and the pending connections that have not sent a hello yet.
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
  /// Makes a link of a peer that has sent its hello.
  using Admit = std::function<Status(LinkId, std::shared_ptr<Line>)>;
  /// The watch's token for the listener. For a pending connection it is the id of its later link.
  static constexpr std::uint64_t kToken = EpollSet::kWakeToken - 1;

  /// All but `admit` must outlive the acceptor.
  Acceptor(const ShmOptions& options, EpollSet& watch, LinkIds& ids, Admit admit)
      : watch_(watch), ids_(ids), admit_(std::move(admit)), strangers_(options) {}

  Status listen(std::string name);
  bool listens() const { return listener_.is_open(); }
  /// The name of the listener, once it listens.
  const std::string& name() const { return name_; }

  /// Accepts new connections; at most `room` of them become links.
  void accept(std::size_t room);
  /// Reads from this connection if it is pending.
  void hear(LinkId id);
  /// Listens again after a pause, and closes pending connections that have timed out.
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

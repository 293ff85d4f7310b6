// SPDX-License-Identifier: Apache-2.0
// AcceptedLinks: the links of those who connected to us. Their connections are ours from the first
// byte, not libzmq's: libzmq collects the parts of a message without a bound before it hands any
// over (docs/decisions, 0019). Who has not been admitted may cost little, and all such together.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "common/clock.h"
#include "van/watch.h"
#include "van/zmq/connection.h"
#include "van/zmq/options.h"
#include "van/zmq/unadmitted.h"

namespace stretto::zmq {

/// Thread: loop.
class AcceptedLinks {
 public:
  /// The watch tells of connections by socket_token of their links.
  AcceptedLinks(const ZmqOptions& options, LinkIds& ids, Watch& watch, ListeningSocket listener);
  ~AcceptedLinks();

  /// Where it listens, as others can connect to it.
  const std::string& address() const { return listener_.address(); }
  /// Links that were announced and have not ended.
  std::size_t size() const { return announced_; }

  /// What the watch has told.
  void accept();
  void notice(LinkId link);

  /// Delivers at most `limit` frames, and the ends of links once all that came before has been.
  Turn receive(Transport::Sink& sink, int limit);
  Transport::Sent send(LinkId link, const wire::Header& header, const Buffer& payload);
  /// Hands what waits to leave together to the kernel.
  void flush();
  void admit(LinkId link);
  void close(LinkId link);
  bool is_local(LinkId link) const;
  /// Tells of room on links that were full.
  void offer_room(Transport::Sink& sink);
  /// Once a second, hangs up on those who have had their time and are not admitted, and on the
  /// oldest of those who say nothing if they are many.
  void hang_up_on_strangers(Transport::Sink& sink);
  /// Breaks links whose paths are dead (LinkLiveness).
  void look_at_paths(Transport::Sink& sink, Time now, Duration dead_after);
  /// Connections that are over, and may have been on the call stack until now.
  void bury() { buried_.clear(); }

  /// How long one may wait for the watch, at most `wait`.
  Duration may_wait(Duration wait) const;

 private:
  void make_ready(Connection& connection);
  Connection* find(LinkId link) const;
  void give_turn(Transport::Sink& sink, Connection& connection, int limit, Turn& turn);
  void take(Transport::Sink& sink, Connection& connection, Intake::Got got);
  bool introduce(Transport::Sink& sink, Connection& connection);
  void refuse(Transport::Sink& sink, Connection& connection, Status why);
  void write(Connection& connection);
  void end(Connection& connection);

  const ZmqOptions options_;
  LinkIds& ids_;
  Watch& watch_;
  ListeningSocket listener_;
  const SteadyClock clock_;
  std::vector<std::byte> scratch_;
  std::unordered_map<LinkId, std::unique_ptr<Connection>> connections_;
  std::vector<std::unique_ptr<Connection>> buried_;
  std::deque<LinkId> ready_;
  std::vector<LinkId> batched_;  // Have frames that leave together.
  std::vector<LinkId> roomy_;    // Were full, and have room now.
  Unadmitted strangers_;
  std::size_t announced_ = 0;
  std::uint64_t refused_ = 0;
  Time next_look_;
};

}  // namespace stretto::zmq

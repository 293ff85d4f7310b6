// SPDX-License-Identifier: Apache-2.0
// ConnectionWatch: tracks the listener's connections by the monitor's events, and disconnects some.
// libzmq limits neither the parts of a message nor the number of handshakes. So this limits pending
// connections: their number, their age, and the bytes received from each.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>

#include "common/log_limiter.h"
#include "common/logged_count.h"
#include "van/zmq/connection_book.h"
#include "van/zmq/listening_port.h"
#include "van/zmq/monitor.h"
#include "van/zmq/options.h"

namespace stretto::zmq {

/// Thread: loop.
class ConnectionWatch {
 public:
  ConnectionWatch(const ZmqOptions& options, Monitor monitor, ListeningPort port)
      : options_(options), monitor_(std::move(monitor)), port_(std::move(port)) {}

  ConnectionBook& book() { return book_; }
  const ConnectionBook& book() const { return book_; }
  Monitor& monitor() { return monitor_; }
  const Monitor& monitor() const { return monitor_; }
  /// The listener's address, as peers can connect to it.
  const std::string& address() const { return port_.address(); }
  Status accept_by(ZmqSocket& socket) { return port_.accept_by(socket); }

  /// Reads the monitor's pending events.
  void read_events();
  /// Disconnects the connection of this descriptor. With an order, only if the connection has it.
  void shut(int descriptor, std::optional<std::uint64_t> order = std::nullopt);
  /// Counts a client that was disconnected for this reason; logs some of them.
  void refuse(const std::string& what);
  /// The caller should read the socket anyway: the result decides which connection to close.
  bool wants_read() const { return wants_read_; }
  /// The socket has been read empty: all received messages were delivered.
  void note_empty();
  /// Disconnects pending connections that are too old, too many or have sent too much. Stops
  /// accepting while there are too many.
  void look_around(Time now);
  /// How long the caller may wait before look_around(), at most `wait`.
  Duration may_wait(Duration wait) const;

 private:
  /// Enough bytes have arrived since `since` that a hello among them should have been read.
  struct Suspicion {
    Time since;
    std::uint64_t reads;  // Reads until then that found the socket empty.
  };

  void gate();
  void check_descriptors(Time now);
  void hang_up_on_strangers(Time now);
  void hang_up_on_talkers(Time now);
  void hang_up(const ConnectionBook::Stranger& stranger, std::string_view why);
  bool is_confirmed(std::uint64_t suspect, Time now, bool heard_out);
  void forget_suspects();

  const ZmqOptions options_;
  Monitor monitor_;
  ListeningPort port_;
  ConnectionBook book_;
  LoggedCount refused_;
  LogLimiter lack_;
  Time next_age_;
  Time next_look_;
  Time next_check_;
  std::uint64_t reads_ = 0;
  bool wants_read_ = false;
  // By order of the pending connection; 0: all of them together.
  std::unordered_map<std::uint64_t, Suspicion> suspects_;
};

}  // namespace stretto::zmq

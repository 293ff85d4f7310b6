// SPDX-License-Identifier: Apache-2.0
// ConnectionWatch: what the monitor tells of the listener's connections, and which of them are
// disconnected from here. libzmq bounds neither the parts of a message nor the number of
// handshakes, so connections that are not admitted are watched: how many they are, how old, and how
// many bytes the kernel has received of each.
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
  /// Where the listener is, as others can connect to it.
  const std::string& address() const { return port_.address(); }
  Status accept_by(ZmqSocket& socket) { return port_.accept_by(socket); }

  /// Reads what the monitor has to say.
  void read_events();
  /// Disconnects the connection that has this descriptor; with an order, unless it is of another
  /// connection by now.
  void shut(int descriptor, std::optional<std::uint64_t> order = std::nullopt);
  /// Counts a client that was disconnected for this reason, and logs some.
  void refuse(const std::string& what);
  /// The socket should be read, though nothing may have come: it tells whom to disconnect.
  bool wants_read() const { return wants_read_; }
  /// The socket has been read empty: all that had come has been delivered.
  void note_empty();
  /// Disconnects connections that are not admitted and are too old, too many or too talkative.
  /// Stops accepting while too many are not admitted.
  void look_around(Time now);
  /// How long one may wait before look_around(), at most `wait`.
  Duration may_wait(Duration wait) const;

 private:
  /// Since when so much has come that a hello among it should have been read.
  struct Suspicion {
    Time since;
    std::uint64_t reads;  // Of the socket that found nothing, until then.
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
  // By order of the stranger; 0: all together.
  std::unordered_map<std::uint64_t, Suspicion> suspects_;
};

}  // namespace stretto::zmq

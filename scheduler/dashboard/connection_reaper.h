// SPDX-License-Identifier: Apache-2.0
// ConnectionReaper: who is connected to the live page, and for how long. The page's server gives up
// a client that falls silent, but not one that sends or takes a byte now and then; so their
// connections are ended from outside.
#pragma once

#include <cstdint>
#include <string>
#include <thread>

#include "common/mutex.h"
#include "scheduler/dashboard/connection_deadlines.h"
#include "stretto/types.h"

namespace stretto {

/// Thread: any.
class ConnectionReaper {
 public:
  explicit ConnectionReaper(ConnectionDeadlines::Patience patience);
  ~ConnectionReaper();
  ConnectionReaper(const ConnectionReaper&) = delete;
  ConnectionReaper& operator=(const ConnectionReaper&) = delete;

  /// Their connections are those that are accepted at this port.
  void watch(std::uint16_t port);
  void came();
  void went();
  /// The visitor of that address and port has asked, and gets an answer now.
  void asked(const std::string& address, int port);
  /// Ends the connections of all.
  void end();

 private:
  void run();
  void end_late(std::uint16_t port);

  Mutex mutex_;
  Condition changed_;
  bool over_ GUARDED_BY(mutex_) = false;
  std::uint16_t port_ GUARDED_BY(mutex_) = 0;
  std::size_t here_ GUARDED_BY(mutex_) = 0;
  ConnectionDeadlines book_ GUARDED_BY(mutex_);
  std::jthread thread_;  // Last: it uses the others.
};

}  // namespace stretto

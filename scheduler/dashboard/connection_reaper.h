// SPDX-License-Identifier: Apache-2.0
// ConnectionReaper: the clients connected to the live page, and for how long. The page's server
// drops a silent client, but not a slow one that transfers a byte at times; so its connection is
// closed from outside.
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

  /// The page accepts connections at this port.
  void watch(std::uint16_t port);
  void came();
  void went();
  /// The client at that address and port has sent its request, and its answer begins.
  void asked(const std::string& address, int port);
  /// Closes all connections.
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

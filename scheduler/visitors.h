// SPDX-License-Identifier: Apache-2.0
// Visitors: who is connected to the live page, and for how long. The page's server gives up a
// client that falls silent, but not one that sends or takes a byte now and then; so their
// connections are ended from outside.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <thread>

#include "common/mutex.h"
#include "stretto/types.h"

namespace stretto {

/// Thread: any.
class Visitors {
 public:
  struct Patience {
    Duration ask;     ///< From being accepted to the end of the request,
    Duration answer;  ///< and from there to the end of the answer.
  };
  explicit Visitors(Patience patience);
  ~Visitors();
  Visitors(const Visitors&) = delete;
  Visitors& operator=(const Visitors&) = delete;

  /// Their connections are those that are accepted at this port.
  void watch(std::uint16_t port);
  void came();
  void went();
  /// The visitor of that address and port has asked, and gets an answer now.
  void asked(const std::string& address, int port);
  /// Ends the connections of all.
  void end();

 private:
  struct Visit {
    Time since;
    bool asked = false;
  };

  void run();
  void end_late(std::uint16_t port);

  const Patience patience_;
  Mutex mutex_;
  Condition changed_;
  bool over_ GUARDED_BY(mutex_) = false;
  std::uint16_t port_ GUARDED_BY(mutex_) = 0;
  std::size_t here_ GUARDED_BY(mutex_) = 0;
  std::map<std::string, Visit> visits_ GUARDED_BY(mutex_);  // By address and port.
  std::jthread thread_;                                     // Last: it uses the others.
};

}  // namespace stretto

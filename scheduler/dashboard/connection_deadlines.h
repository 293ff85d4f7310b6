// SPDX-License-Identifier: Apache-2.0
// ConnectionDeadlines: the HTTP clients of the live page, since when the server reads each, and
// which are late. The server reads a limited number of clients at a time, in the order of arrival;
// a client is not late while it waits for that.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "stretto/types.h"

namespace stretto {

/// Pure: times are passed in. Thread: its owner's.
class ConnectionDeadlines {
 public:
  struct Patience {
    Duration ask;           ///< From a client's turn to the end of its request,
    Duration answer;        ///< and from there to the end of the answer.
    std::size_t at_once{};  ///< Clients served at a time.
  };
  explicit ConnectionDeadlines(Patience patience) : patience_(patience) {}

  /// The client has sent its request, and its answer begins.
  void asked(const std::string& name, Time now);
  /// The late clients of all that are connected; new clients are numbered in the order of `here`.
  std::set<std::string> late(const std::vector<std::string>& here, Time now);
  void clear() { visits_.clear(); }

 private:
  struct Visit {
    Time since;
    std::uint64_t number = 0;  // In the order of arrival.
    bool asked = false;
  };

  Patience patience_;
  std::uint64_t next_ = 0;
  std::map<std::string, Visit> visits_;  // By address and port.
};

}  // namespace stretto

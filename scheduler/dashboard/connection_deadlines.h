// SPDX-License-Identifier: Apache-2.0
// ConnectionDeadlines: since when each visitor of the live page is heard, and who is late. The
// page's server hears some at a time, in the order in which they came; who waits for a turn is not
// slow.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "stretto/types.h"

namespace stretto {

/// Pure: times are handed in. Thread: its owner's.
class ConnectionDeadlines {
 public:
  struct Patience {
    Duration ask;           ///< From the turn of a visitor to the end of the request,
    Duration answer;        ///< and from there to the end of the answer.
    std::size_t at_once{};  ///< So many have a turn at a time.
  };
  explicit ConnectionDeadlines(Patience patience) : patience_(patience) {}

  /// The visitor has asked, and gets an answer from now on.
  void asked(const std::string& name, Time now);
  /// Those who are too late, of all that are here now; who is new is named in the order of coming.
  std::set<std::string> late(const std::vector<std::string>& here, Time now);
  void clear() { visits_.clear(); }

 private:
  struct Visit {
    Time since;
    std::uint64_t number = 0;  // In the order of coming.
    bool asked = false;
  };

  Patience patience_;
  std::uint64_t next_ = 0;
  std::map<std::string, Visit> visits_;  // By address and port.
};

}  // namespace stretto

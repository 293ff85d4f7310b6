// SPDX-License-Identifier: Apache-2.0
// StalledRounds: the rounds of a shard with long waits, and the workers whose pushes they lack, in
// brief for the scheduler's page. Collected again in each pass over the parts.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "van/control/control.h"

namespace stretto {

/// "1, 4, 7": at most eight of them.
std::string list_of(const std::vector<Rank>& ranks);

/// Thread: loop.
class StalledRounds {
 public:
  /// Shorter waits are not reported.
  static constexpr Duration kLong = 1s;

  /// Adds one part's open round.
  void add(const std::string& tensor, std::uint64_t round, Duration age,
           const std::vector<Rank>& awaited);
  /// The longest first.
  std::vector<control::LongWait> told() const;

 private:
  struct Wait {
    std::uint64_t round = 0;
    Duration age{};
    std::set<Rank> awaited;
  };
  std::map<std::string, Wait> by_tensor_;
};

}  // namespace stretto

// SPDX-License-Identifier: Apache-2.0
// StalledRounds: of a shard's rounds those that have waited long, and whose pushes they lack, in
// few words for the scheduler's page. Collected anew in each look over the parts.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "van/control/control.h"

namespace stretto {

/// "1, 4, 7": eight of them at most.
std::string list_of(const std::vector<Rank>& ranks);

/// Thread: loop.
class StalledRounds {
 public:
  /// A wait that is shorter is nobody's business.
  static constexpr Duration kLong = 1s;

  /// One part's open round.
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

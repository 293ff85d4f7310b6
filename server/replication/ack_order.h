// SPDX-License-Identifier: Apache-2.0
// AckOrder: acknowledgments say of a push that all before it on its link have been applied too. So
// those of pushes that wait hold back those of later ones.
#pragma once

#include <cstdint>
#include <map>
#include <set>

#include "van/engine/van.h"

namespace stretto {

/// Thread: loop.
class AckOrder {
 public:
  explicit AckOrder(Van& van) : van_(van) {}

  /// A push has come, and is not applied yet.
  void came(LinkId link, std::uint64_t sequence) { links_[link].open.insert(sequence); }
  /// It was refused: its sender hears of that otherwise, and nothing waits for it.
  void refused(LinkId link, std::uint64_t sequence);
  /// Of one that has come; or of another, which none before it waits for.
  void applied(LinkId link, std::uint64_t sequence, bool at_once);
  void forget(LinkId link) { links_.erase(link); }

 private:
  struct Link {
    std::set<std::uint64_t> open;
    std::uint64_t applied = 0;  // The last one that has been.
  };

  void tell(LinkId id, const Link& link, bool at_once);

  Van& van_;
  std::map<LinkId, Link> links_;
};

}  // namespace stretto

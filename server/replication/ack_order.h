// SPDX-License-Identifier: Apache-2.0
// AckOrder: acknowledgments are cumulative: one says that all earlier pushes on its link have been
// applied. So pending pushes delay the acknowledgments of later ones.
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
  /// It was rejected with an error to its sender; no acknowledgment waits for it.
  void refused(LinkId link, std::uint64_t sequence);
  /// A push of came(), or another without pending ones before it, was applied.
  void applied(LinkId link, std::uint64_t sequence, bool at_once);
  void forget(LinkId link) { links_.erase(link); }

 private:
  struct Link {
    std::set<std::uint64_t> open;
    std::uint64_t applied = 0;  // The last applied one.
  };

  void tell(LinkId id, const Link& link, bool at_once);

  Van& van_;
  std::map<LinkId, Link> links_;
};

}  // namespace stretto

// SPDX-License-Identifier: Apache-2.0
// Acknowledgments stop before the first pending push.
#include "server/replication/ack_order.h"

#include <algorithm>

namespace stretto {

void AckOrder::refused(LinkId link, std::uint64_t sequence) {
  const auto found = links_.find(link);
  if (found == links_.end() || found->second.open.erase(sequence) == 0) return;
  tell(link, found->second, true);
}

void AckOrder::applied(LinkId link, std::uint64_t sequence, bool at_once) {
  const auto found = links_.find(link);
  if (found == links_.end() || found->second.open.erase(sequence) == 0) {
    return van_.ack(link, sequence, at_once);
  }
  found->second.applied = std::max(found->second.applied, sequence);
  tell(link, found->second, at_once);
}

void AckOrder::tell(LinkId id, const Link& link, bool at_once) {
  const std::uint64_t through =
      link.open.empty() ? link.applied : std::min(link.applied, *link.open.begin() - 1);
  if (through != 0) van_.ack(id, through, at_once);
}

}  // namespace stretto

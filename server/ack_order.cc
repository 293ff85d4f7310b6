// SPDX-License-Identifier: Apache-2.0
// An acknowledgment reaches to the first push that waits.
#include "server/ack_order.h"

namespace stretto {

void AckOrder::applied(LinkId link, std::uint64_t sequence, bool at_once) {
  const auto found = links_.find(link);
  if (found == links_.end() || found->second.open.erase(sequence) == 0) {
    return van_.ack(link, sequence, at_once);
  }
  const Link& known = found->second;
  const std::uint64_t through = known.open.empty() ? known.last : *known.open.begin() - 1;
  if (through != 0) van_.ack(link, through, at_once);
}

}  // namespace stretto

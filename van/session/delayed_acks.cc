// SPDX-License-Identifier: Apache-2.0
// Only admitted links are noted, each once.
#include "van/session/delayed_acks.h"

namespace stretto {

void DelayedAcks::note(LinkId id, LinkState& link, Time now) {
  if (link.owing || !link.admitted) return;
  link.owing = true;
  owing_.emplace_back(id, now);
}

}  // namespace stretto

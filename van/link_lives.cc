// SPDX-License-Identifier: Apache-2.0
// The lives of links: which may not stay is known apart.
#include "van/link_lives.h"

namespace stretto {

void LinkLives::add(LinkId id, bool ours, Time now) {
  LinkState& link = links_[id];
  link.ours = ours;
  unsettled_.add(id, now);
  if (ours) greet(id, link);
}

void LinkLives::greet(LinkId id, LinkState& link) {
  if (link.greeted) return;
  link.greeted = true;
  unsettled_.greeted(id);
}

bool LinkLives::admit(LinkId id, NodeId peer, bool visits) {
  LinkState* link = find(id);
  if (link == nullptr || link->admitted) return false;
  link->admitted = true;
  link->visits = visits;
  link->session.set_peer(peer);
  unsettled_.admitted(id);
  return true;
}

void LinkLives::refuse(LinkId id, LinkState& link, Time now) {
  link.closing = true;
  unsettled_.refused(id, now);
}

void LinkLives::remove(LinkId id) {
  links_.erase(id);
  unsettled_.remove(id);
}

}  // namespace stretto

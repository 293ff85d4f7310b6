// SPDX-License-Identifier: Apache-2.0
// States of links; PendingLinks knows which may not stay.
#include "van/session/link_table.h"

#include <fmt/core.h>

#include <algorithm>

#include "common/check.h"
#include "common/log.h"
#include "van/session/frame_handler.h"

namespace stretto {

void LinkTable::add(LinkId id, bool ours, Time now) {
  LinkState& link = links_[id];
  link.carrier = id;
  link.ours = ours;
  link.answered = now;
  unsettled_.add(id, now);
  if (ours) greet(id, link);
}

LinkTable::Carried LinkTable::carried_by(LinkId carrier) {
  LinkId id = carrier;
  if (!carriers_.empty()) {
    const auto found = carriers_.find(carrier);
    if (found != carriers_.end()) id = found->second;
  }
  LinkState* link = find(id);
  return link == nullptr || link->carrier != carrier ? Carried() : Carried{id, link};
}

void LinkTable::carry(LinkId id, LinkId carrier) {
  LinkState* link = find(id);
  STRETTO_CHECK(link != nullptr && link->greeted);
  carriers_.erase(link->carrier);
  link->carrier = carrier;
  if (carrier != 0) carriers_[carrier] = id;
}

std::string LinkTable::name_of(NodeId peer) const {
  if (peer == 0) return "an endpoint";
  std::string name = name_of_ ? name_of_(peer) : std::string();
  return name.empty() ? fmt::format("node {}", peer) : name;
}

LinkId LinkTable::named(std::uint64_t name) const {
  const auto found = std::ranges::find_if(
      links_, [name](const auto& item) { return item.second.session.name() == name; });
  return name == 0 || found == links_.end() ? 0 : found->first;
}

void LinkTable::greet(LinkId id, LinkState& link) {
  if (link.greeted) return;
  link.greeted = true;
  unsettled_.greeted(id);
}

bool LinkTable::admit(LinkId id, NodeId peer, LinkKind stay) {
  LinkState* link = find(id);
  if (link == nullptr || link->admitted) return false;
  link->admitted = true;
  link->visits = stay == LinkKind::kVisits;
  link->session.set_peer(peer);
  unsettled_.admitted(id);
  return true;
}

void LinkTable::refuse(LinkId id, LinkState& link, Time now) {
  link.closing = true;
  unsettled_.refused(id, now);
}

void LinkTable::remove(LinkId id) {
  if (const LinkState* link = find(id)) carriers_.erase(link->carrier);
  links_.erase(id);
  unsettled_.remove(id);
}

void note_corrupted(LinkState& link, const LinkTable& links, FrameCounters& counters, Time now) {
  ++counters.corrupted;
  if (!link.corruption.note(now)) return;
  log(Level::kError,
      "more than {} frames of the link to {}{}{} came corrupted within a minute; none was "
      "used, and each is sent again, but the cables, network cards and memory between the two "
      "should be looked at",
      CorruptionRate::kMost, links.name_of(link.session.peer()), link.address.empty() ? "" : " at ",
      link.address);
}

}  // namespace stretto

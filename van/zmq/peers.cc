// SPDX-License-Identifier: Apache-2.0
// Which peer has which descriptor, decided from events and messages. See the header for why.
#include "van/zmq/peers.h"

#include <fmt/format.h>

#include <algorithm>

namespace stretto::zmq {
namespace {

constexpr std::size_t kGoneRemembered = 256;

Status has_ended(const Peer& peer) {
  return {Code::kLinkBroken, fmt::format("the connection from {} has ended", peer.address)};
}

}  // namespace

void Peers::accepted(int descriptor, Time now) {
  Wire& wire = wires_[descriptor];
  wire.open = true;
  wire.spoken = false;
  wire.since = now;
}

std::vector<int> Peers::silent(Time late, Time early, std::size_t most) const {
  std::vector<std::pair<Time, int>> quiet;
  for (const auto& [descriptor, wire] : wires_) {
    if (wire.open && !wire.spoken && wire.since < early) quiet.emplace_back(wire.since, descriptor);
  }
  std::ranges::sort(quiet);
  std::vector<int> descriptors;
  for (std::size_t i = 0; i < quiet.size(); ++i) {
    if (quiet[i].first < late || quiet.size() - i > most) descriptors.push_back(quiet[i].second);
  }
  return descriptors;
}

void Peers::disconnected(int descriptor) {
  Wire& wire = wires_[descriptor];
  const std::vector<Peer*> peers = std::exchange(wire.peers, {});
  for (Peer* peer : peers) end(*peer, has_ended(*peer));
  if (peers.size() == 1 && peers[0]->sure) {
    wires_.erase(descriptor);
    return;
  }
  wire.open = false;
  if (!std::exchange(wire.unsettled, true)) unsettled_.push_back(descriptor);
}

Peer* Peers::find(std::uint32_t number) {
  const auto found = by_number_.find(number);
  return found == by_number_.end() ? nullptr : found->second;
}

Peer* Peers::find_link(LinkId link) {
  const auto found = by_link_.find(link);
  return found == by_link_.end() ? nullptr : found->second.get();
}

Peer& Peers::add(std::uint32_t number, LinkId link, int descriptor, std::string address) {
  auto owner = std::make_unique<Peer>();
  Peer& peer = *owner;
  peer.link = link;
  peer.number = number;
  peer.descriptor = descriptor;
  peer.address = std::move(address);
  by_link_.emplace(link, std::move(owner));
  by_number_.emplace(number, &peer);
  const auto wire = wires_.find(descriptor);
  if (wire != wires_.end() && wire->second.open) {
    wire->second.peers.push_back(&peer);
    wire->second.spoken = true;
  } else {  // It came, sent and went before we looked.
    end(peer, has_ended(peer));
  }
  return peer;
}

void Peers::heard(Peer& peer) {
  peer.heard_at = ++messages_;
  if (peer.sure || peer.ended || !is_current(peer.descriptor)) return;
  peer.sure = true;
  Wire& wire = wires_[peer.descriptor];
  for (Peer* other : std::exchange(wire.peers, {&peer})) {
    if (other != &peer) end(*other, has_ended(*other));
  }
}

void Peers::drained() {
  for (const int descriptor : std::exchange(unsettled_, {})) {
    const auto wire = wires_.find(descriptor);
    wire->second.unsettled = false;
    if (!wire->second.open) wires_.erase(wire);
  }
}

void Peers::end(Peer& peer, Status why) {
  if (peer.ended) return;
  peer.ended = true;
  peer.why = std::move(why);
  peer.heard_at = messages_;
  ended_.push_back(peer.link);
}

bool Peers::is_current(int descriptor) const {
  const auto wire = wires_.find(descriptor);
  return wire != wires_.end() && wire->second.open && !wire->second.unsettled;
}

bool Peers::is_gone(std::uint32_t number) const {
  return std::find(gone_.begin(), gone_.end(), number) != gone_.end();
}

std::vector<LinkId> Peers::take_ended(bool empty) {
  std::vector<LinkId> ended = std::exchange(ended_, {});
  if (empty) return ended;
  const std::uint64_t overtaken = 4 * by_link_.size() + 64;
  const auto waits = std::partition(ended.begin(), ended.end(), [&](LinkId link) {
    return messages_ - by_link_.at(link)->heard_at > overtaken;
  });
  ended_.assign(waits, ended.end());
  ended.erase(waits, ended.end());
  return ended;
}

std::unique_ptr<Peer> Peers::remove(LinkId link) {
  auto node = by_link_.extract(link);
  std::unique_ptr<Peer> peer = std::move(node.mapped());
  by_number_.erase(peer->number);
  gone_.push_back(peer->number);
  if (gone_.size() > kGoneRemembered) gone_.pop_front();
  if (const auto wire = wires_.find(peer->descriptor); wire != wires_.end()) {
    std::erase(wire->second.peers, peer.get());
  }
  return peer;
}

}  // namespace stretto::zmq

// SPDX-License-Identifier: Apache-2.0
// Maps links to descriptors, from events and messages. The header explains the rules.
#include "van/zmq/connection_book.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

namespace stretto::zmq {
namespace {

constexpr std::size_t kMostGone = 4096;

Status end_of(const AcceptedLink& link) {
  return {Code::kLinkBroken, fmt::format("the connection from {} has ended", link.address)};
}

}  // namespace

void ConnectionBook::accepted(int descriptor) {
  if (is_open(descriptor)) disconnected(descriptor);  // No event came: another took its id.
  Wire& wire = wires_[descriptor];
  wire.open = true;
  wire.admitted = false;
  wire.shut = false;
  wire.since = age_;
  wire.order = ++order_;
  wire.accepted_at = messages_;
  ++strangers_;
}

void ConnectionBook::close(Wire& wire) {
  if (wire.open && !wire.admitted) --strangers_;
  wire.open = false;
}

void ConnectionBook::disconnected(int descriptor) {
  Wire& wire = wires_[descriptor];
  close(wire);
  const std::vector<AcceptedLink*> links = std::exchange(wire.links, {});
  for (AcceptedLink* link : links) end(*link, end_of(*link));
  if (links.size() == 1 && links[0]->sure) {
    if (!wire.unsettled) wires_.erase(descriptor);
    return;
  }
  if (!std::exchange(wire.unsettled, true)) unsettled_.push_back(descriptor);
}

AcceptedLink* ConnectionBook::find(std::string_view id) {
  const auto found = by_id_.find(id);
  return found == by_id_.end() ? nullptr : found->second;
}

AcceptedLink* ConnectionBook::find_link(LinkId link) const {
  const auto found = by_link_.find(link);
  return found == by_link_.end() ? nullptr : found->second.get();
}

AcceptedLink& ConnectionBook::add(LinkId number, std::string_view id, int descriptor,
                                  std::string address) {
  auto owner = std::make_unique<AcceptedLink>();
  AcceptedLink& link = *owner;
  link.link = number;
  link.id = id;
  link.descriptor = descriptor;
  link.address = std::move(address);
  by_link_.emplace(number, std::move(owner));
  by_id_.erase(id);  // The key is memory of the link.
  by_id_.emplace(link.id, &link);
  const auto wire = wires_.find(descriptor);
  if (wire != wires_.end() && wire->second.open) {
    wire->second.links.push_back(&link);
  } else {  // It connected, sent and ended before this read.
    end(link, end_of(link));
  }
  return link;
}

void ConnectionBook::heard(AcceptedLink& link) {
  link.heard_at = ++messages_;
  if (link.sure || link.ended || !is_current(link.descriptor)) return;
  link.sure = true;
  Wire& wire = wires_[link.descriptor];
  for (AcceptedLink* other : std::exchange(wire.links, {&link})) {
    if (other != &link) end(*other, end_of(*other));
  }
}

void ConnectionBook::drained() {
  gone_.clear();
  for (const int descriptor : std::exchange(unsettled_, {})) {
    const auto wire = wires_.find(descriptor);
    wire->second.unsettled = false;
    if (!wire->second.open) wires_.erase(wire);
  }
}

void ConnectionBook::admit(LinkId number) {
  const AcceptedLink* link = find_link(number);
  if (link == nullptr) return;
  const auto wire = wires_.find(link->descriptor);
  if (wire == wires_.end() || !wire->second.open || wire->second.admitted) return;
  if (std::ranges::find(wire->second.links, link) == wire->second.links.end()) return;
  wire->second.admitted = true;
  --strangers_;
}

void ConnectionBook::end(AcceptedLink& link, Status why) {
  if (link.ended) return;
  link.ended = true;
  link.why = std::move(why);
  link.heard_at = messages_;
  ended_.push_back(link.link);
}

bool ConnectionBook::is_current(int descriptor) const {
  const auto wire = wires_.find(descriptor);
  return wire != wires_.end() && wire->second.open && !wire->second.unsettled;
}

std::uint64_t ConnectionBook::order_of(int descriptor) const {
  const auto wire = wires_.find(descriptor);
  return wire != wires_.end() && wire->second.open ? wire->second.order : 0;
}

bool ConnectionBook::is_open(int descriptor) const {
  const auto wire = wires_.find(descriptor);
  return wire != wires_.end() && wire->second.open;
}

std::vector<LinkId> ConnectionBook::take_ended(bool empty) {
  if (ended_.empty()) return {};
  std::vector<LinkId> ended = std::exchange(ended_, {});
  if (empty) return ended;
  const auto waits = std::partition(ended.begin(), ended.end(), [&](LinkId link) {
    return messages_ - by_link_.at(link)->heard_at > overtaken();
  });
  ended_.assign(waits, ended.end());
  ended.erase(waits, ended.end());
  return ended;
}

std::unique_ptr<AcceptedLink> ConnectionBook::remove(LinkId number) {
  auto node = by_link_.extract(number);
  std::unique_ptr<AcceptedLink> link = std::move(node.mapped());
  if (const auto found = by_id_.find(link->id);
      found != by_id_.end() && found->second == link.get()) {
    by_id_.erase(found);
    if (gone_.size() == kMostGone) gone_.clear();
    gone_.insert(link->id);
  }
  if (const auto wire = wires_.find(link->descriptor); wire != wires_.end()) {
    std::erase(wire->second.links, link.get());
  }
  return link;
}

std::vector<ConnectionBook::Stranger> ConnectionBook::list_strangers() const {
  std::vector<Stranger> found;
  for (const auto& [descriptor, wire] : wires_) {
    if (!wire.open || wire.admitted || wire.shut) continue;
    const bool heard_out = messages_ - wire.accepted_at > overtaken();
    found.push_back({descriptor, wire.order, age_ - wire.since, heard_out});
  }
  std::ranges::sort(found, {}, &Stranger::order);
  return found;
}

}  // namespace stretto::zmq

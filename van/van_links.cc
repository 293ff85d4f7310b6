// SPDX-License-Identifier: Apache-2.0
// The lives of the Van's links: they come, are admitted or refused, and end.
#include <vector>

#include "van/messages.h"
#include "van/van.h"

namespace stretto {
namespace {

constexpr Duration kGreetingTime = 5s;  // Longest that a link may stay without a hello,
constexpr Duration kRefusalTime = 1s;   // and a refused one with its fault unsent.
constexpr Duration kExpireEvery = 500ms;
constexpr std::size_t kMaxStrangers = 1024;  // Links not admitted, at most.

}  // namespace

// Towards this host nothing is shared with others: its windows are the settings'.
void Van::open(LinkId id, Link& link) {
  link.since = clock_.now();
  ++strangers_;
  queue_.add_link(id);
  if (paced_ && !transport_->is_local(id)) pacer_.add_link(id, link.since);
}

void Van::on_link(LinkId id) {
  if (strangers_ >= kMaxStrangers) {  // A flood: the newest goes, members are not touched.
    ++counters_.refused;
    transport_->close(id);
    return;
  }
  open(id, links_[id]);
}

Result<LinkId> Van::connect(std::string_view address, const wire::Hello& hello) {
  Result<LinkId> link = transport_->connect(address);
  if (!link.ok()) return link;
  Link& state = links_[*link];
  state.ours = true;
  state.greeted = true;
  open(*link, state);
  wire::Control message;
  *message.mutable_hello() = hello;
  send_control(*link, message);
  return link;
}

void Van::admit(LinkId link, NodeId peer) {
  auto found = links_.find(link);
  if (found == links_.end() || found->second.admitted) return;
  found->second.admitted = true;
  found->second.peer = peer;
  --strangers_;
  transport_->admit(link);
}

void Van::admit_visitor(LinkId link, NodeId peer) {
  admit(link, peer);
  if (auto found = links_.find(link); found != links_.end()) found->second.visits = true;
}

void Van::close(LinkId link) {
  if (links_.count(link) == 0) return;
  forget(link);
  transport_->close(link);
}

void Van::shut() {
  while (!links_.empty()) close(links_.begin()->first);
  waker_->silence();  // Before the transport ends: leases that end with it wake.
  transport_.reset();
}

void Van::refuse(LinkId link, const Status& why) {
  auto found = links_.find(link);
  if (found == links_.end()) return;
  send_control(link, fault_message(why));
  ++counters_.refused;
  if (!found->second.closing) ++refused_;
  found->second.closing = true;
  found->second.since = clock_.now();
}

bool Van::is_open(LinkId link) const {
  auto found = links_.find(link);
  return found != links_.end() && found->second.admitted && !found->second.closing;
}

NodeId Van::peer_of(LinkId link) const {
  auto found = links_.find(link);
  return found == links_.end() ? 0 : found->second.peer;
}

void Van::drop(LinkId id, const Status& why) {
  auto found = links_.find(id);
  if (found == links_.end()) return;
  const bool known = found->second.greeted && !found->second.closing;
  if (known && !found->second.visits) ++counters_.breaks;
  close(id);
  if (known) handler_->on_broken(id, why);
}

void Van::forget(LinkId id) {
  auto found = links_.find(id);
  if (!found->second.admitted) --strangers_;
  if (found->second.closing) --refused_;
  queue_.remove_link(id);
  pacer_.remove_link(id);
  trace_.forget(id);
  links_.erase(found);
}

// Links that never said hello, and refused ones whose fault has left or would not leave.
void Van::expire_strangers() {
  const Time now = clock_.now();
  if ((strangers_ == 0 && refused_ == 0) || now < next_expiry_) return;
  next_expiry_ = now + kExpireEvery;
  std::vector<LinkId> expired;
  for (const auto& [id, link] : links_) {
    const bool silent = !link.admitted && !link.greeted && now - link.since > kGreetingTime;
    const bool refused = link.closing && now - link.since > kRefusalTime;
    if (silent || refused) expired.push_back(id);
  }
  for (LinkId id : expired) {
    const Link& link = links_.at(id);
    const bool member = link.admitted;
    if (member && !link.visits) ++counters_.breaks;
    close(id);
    if (member) handler_->on_broken(id, {Code::kLinkBroken, "it was refused for what it sent"});
  }
}

}  // namespace stretto

// SPDX-License-Identifier: Apache-2.0
// Links are opened, admitted or refused, and end.
#include "van/engine/link_manager.h"

#include <algorithm>

#include "van/control/control_codec.h"
#include "van/control/handshake.h"

namespace stretto {

// ---- opening

void LinkManager::add(LinkId id, bool ours) {
  const Time now = parts_.clock.now();
  parts_.links.add(id, ours, now);
  sender_.add_link(id, now);
}

void LinkManager::accept(LinkId carrier) {
  if (parts_.links.unsettled().full()) {
    ++parts_.counters.refused;
    parts_.transport.close(carrier);
    return;
  }
  add(carrier, false);
}

Result<LinkId> LinkManager::connect(std::string_view address, const control::Hello& hello) {
  Result<LinkId> link = parts_.transport.connect(address);
  if (!link.ok()) return link;
  add(*link, true);
  LinkState& state = *parts_.links.find(*link);
  state.address = address;
  state.token = hello.token;
  state.session.outlive(mender_.new_name(*link));
  control::Hello greeting = hello;
  greeting.session = state.session.name();
  greeting.padding = std::min(greeting.padding, path_proof(*link));
  sender_.queue_control(*link, control::encode(greeting));
  return link;
}

void LinkManager::admit(LinkId id, NodeId peer, LinkKind stay) {
  if (!parts_.links.admit(id, peer, stay)) return;
  // The sender of the Welcome gets an ack even if no other frame follows.
  sender_.note_owed(id, *parts_.links.find(id));
  parts_.transport.admit(id);
}

void LinkManager::await(LinkId id, Return what) {
  if (LinkState* link = parts_.links.find(id); link != nullptr) mender_.await(id, *link, what);
}

std::size_t LinkManager::path_proof(LinkId id) const {
  const LinkState* link = parts_.links.find(id);
  return link != nullptr && link->session.outlives() ? kPathProofBytes : 0;
}

bool LinkManager::is_open(LinkId id) const {
  const LinkState* link = parts_.links.find(id);
  return link != nullptr && link->admitted && !link->closing;
}

bool LinkManager::has_heard_all(LinkId id) const {
  const LinkState* link = parts_.links.find(id);
  if (link == nullptr) return true;
  const bool awaited = link->session.outlives() && link->session.awaits_word();
  return !awaited && sender_.queue().waiting(id) == 0;
}

// ---- ending

void LinkManager::close(LinkId id) {
  const LinkState* link = parts_.links.find(id);
  if (link == nullptr) return;
  const LinkId carrier = link->carrier;
  forget(id);
  if (carrier != 0) parts_.transport.close(carrier);
}

void LinkManager::close_all() {
  while (!parts_.links.empty()) close(parts_.links.first());
}

void LinkManager::forget(LinkId id) {
  mender_.forget(id);
  sender_.remove_link(id);
  parts_.trace.forget(id);
  parts_.links.remove(id);
}

void LinkManager::refuse(LinkId id, const Status& why) {
  LinkState* link = parts_.links.find(id);
  if (link == nullptr) return;
  sender_.queue_control(id, control::encode(control::Fault{.why = why}));
  ++parts_.counters.refused;
  parts_.links.refuse(id, *link, parts_.clock.now());
}

void LinkManager::carrier_broke(LinkId carrier, const Status& why, FrameHandler& handler) {
  const auto [id, link] = parts_.links.carried_by(carrier);
  if (link == nullptr) return mender_.on_broken(carrier, why);
  // A sender that uses checksums sends no malformed frames: such bytes were corrupted on the way.
  const bool corrupted = link->gets_checksums && why.code() == Code::kMalformed;
  if (corrupted) note_corrupted(*link, parts_.links, parts_.counters, parts_.clock.now());
  const bool goodbye = link->awaited == Return::kUnlessEnded && why.code() == Code::kLinkBroken;
  const bool heard = !link->session.awaits_word() && sender_.queue().waiting(id) == 0;
  if (goodbye && heard) return drop(id, why, handler);
  lose(id, *link, corrupted ? Status(Code::kLinkBroken, why.cause()) : why, handler);
}

void LinkManager::lose(LinkId id, LinkState& link, const Status& why, FrameHandler& handler) {
  if (!mender_.part(id, link, why)) drop(id, why, handler);
}

void LinkManager::drop(LinkId id, const Status& why, FrameHandler& handler) {
  const LinkState* link = parts_.links.find(id);
  if (link == nullptr) return;
  const bool known = link->greeted && !link->closing;
  if (known && !link->visits && link->carrier != 0) ++parts_.counters.breaks;
  const bool met = link->admitted;
  close(id);
  // Handlers get kLinkBroken for every break. To a new peer a refused connection is not a break.
  const bool broken = why.code() == Code::kTimeout || why.code() == Code::kNetwork ||
                      (met && why.code() == Code::kRefused);
  if (known) handler.on_broken(id, broken ? Status(Code::kLinkBroken, why.cause()) : why);
}

void LinkManager::expire(FrameHandler& handler) {
  for (const LinkId id : parts_.links.unsettled().expired(parts_.clock.now())) {
    const LinkState* link = parts_.links.find(id);
    if (link == nullptr) continue;  // The handler has closed it.
    const bool member = link->admitted;
    if (member && !link->visits) ++parts_.counters.breaks;
    close(id);
    if (member) handler.on_broken(id, {Code::kLinkBroken, "it was refused for what it sent"});
  }
}

void LinkManager::mend(FrameHandler& handler) {
  mender_.look_at_answers();
  if (mender_.next_due() > parts_.clock.now()) return;
  for (const PartedSessions::Lost& lost : mender_.lost()) drop(lost.session, lost.why, handler);
  mender_.connect();
}

}  // namespace stretto

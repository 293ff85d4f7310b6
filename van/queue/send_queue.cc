// SPDX-License-Identifier: Apache-2.0
// Late binding: a frame is chosen when the transport has room, not when it is queued.
#include "van/queue/send_queue.h"

namespace stretto {
namespace {

Slicing slicing_of(const SendWindows& windows, LinkId link) {
  return windows.slicing_of(*windows.find(link));
}

SendQueue::Pick pick_of(LinkId link, const LinkQueue& queue, Frame& frame, const Slicing& slicing) {
  const Slice slice = queue.slice_of(frame, slicing);
  return {link, false, &frame, slice.offset, slice.bytes, slice.last};
}

}  // namespace

void SendQueue::add_link(LinkId link) {
  backlog_.add(link);
  windows_.add(link);
}

void SendQueue::remove_link(LinkId link) {
  backlog_.remove(link);
  windows_.remove(link);
  arbiter_.set_control(link, false);
  arbiter_.withdraw(link);
}

// ---- eligible data

// An offer stays valid until its link changes.
void SendQueue::offer_changed() {
  windows_.drain_changed([this](LinkId id, const SendWindows::Link& link) {
    LinkQueue& queue = *backlog_.find(id);
    queue.changed = false;  // One visit is enough.
    offer(id, link, queue);
  });
  backlog_.drain_changed(
      [this](LinkId id, const LinkQueue& queue) { offer(id, *windows_.find(id), queue); });
}

void SendQueue::offer(LinkId id, const SendWindows::Link& link, const LinkQueue& queue) {
  arbiter_.set_control(id, !link.full && queue.has_control());
  if (link.full || !queue.has_data()) return arbiter_.withdraw(id);
  const Frame& frame = queue.lanes().first();
  const std::uint64_t room = windows_.slicing_of(link).room_of(frame);
  const bool urgent = windows_.is_urgent(frame);
  if (!windows_.has_room(link, room, urgent)) return arbiter_.withdraw(id);
  arbiter_.offer(id, link.shaped,
                 {.urgency = queue.lanes().most_urgent(),
                  .oldest = queue.lanes().longest_order(),
                  .room = room,
                  .urgent = urgent});
}

// ---- sending

std::optional<SendQueue::Pick> SendQueue::next(Candidates among) {
  arbiter_.begin();
  if (waiting() == 0) return std::nullopt;
  offer_changed();
  if (const auto link = arbiter_.control()) {
    Frame& frame = backlog_.find(*link)->first_control();
    const auto bytes = static_cast<std::uint32_t>(frame.payload.size());
    return Pick{*link, true, &frame, 0, bytes, true};
  }
  if (arbiter_.may_be_aged()) {
    if (auto pick = next_aged(among)) return pick;
  }
  return next_urgent(among);
}

std::optional<SendQueue::Pick> SendQueue::next_urgent(Candidates among) {
  const auto link = arbiter_.most_urgent(windows_, among);
  if (!link) return std::nullopt;
  LinkQueue& queue = *backlog_.find(*link);
  const Slicing slicing = slicing_of(windows_, *link);
  Frame* frame = &queue.turn(slicing);
  if (queue.must_begin(*frame, slicing))
    frame = &backlog_.make_room(*link, queue.lanes().most_urgent());
  return pick_of(*link, queue, *frame, slicing);
}

std::optional<SendQueue::Pick> SendQueue::next_aged(Candidates among) {
  LinkId link = 0;
  Frame* oldest = nullptr;
  Slicing slicing;
  arbiter_.by_age(windows_, among, [&](LinkId candidate, const LinkArbiter::Offer& offer) {
    if (oldest != nullptr && offer.oldest > oldest->order) return false;
    const Slicing cut = slicing_of(windows_, candidate);
    Frame* frame = backlog_.find(candidate)->longest(cut);
    if (frame == nullptr || (oldest != nullptr && frame->order > oldest->order)) return true;
    link = candidate;
    oldest = frame;
    slicing = cut;
    return true;
  });
  if (oldest == nullptr) return std::nullopt;
  LinkQueue& queue = *backlog_.find(link);
  const bool crowded = queue.must_begin(*oldest, slicing);
  const std::uint64_t charge = crowded ? wire::kHeaderBytes + slicing.quantum()
                                       : pick_of(link, queue, *oldest, slicing).charge();
  if (!arbiter_.is_aged(charge)) return std::nullopt;
  if (crowded) {  // Abandons a paused frame; the oldest frame follows its end.
    oldest = &backlog_.make_room(link, oldest->urgency());
  } else {
    arbiter_.note_aged();
  }
  Pick pick = pick_of(link, queue, *oldest, slicing);
  pick.aged = true;
  return pick;
}

void SendQueue::taken(const Pick& pick) {
  if (pick.control) return backlog_.pop_control(pick.link);
  windows_.note_sent(pick.link, pick.charge());
  arbiter_.served(pick.link, pick.charge());
  backlog_.taken(pick.link, *pick.frame, {pick.offset, pick.bytes, pick.last});
}

}  // namespace stretto

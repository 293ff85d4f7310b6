// SPDX-License-Identifier: Apache-2.0
// Late binding: the choice is made when the transport can take bytes, not when they were queued.
#include "van/send_queue.h"

#include <algorithm>
#include <iterator>
#include <limits>

namespace stretto {
namespace {

// What has waited longest gets one byte in so many, however urgent the others are.
constexpr std::uint64_t kShareOfUrgent = 32;
// Handed over before it is worth looking for what has waited longest.
constexpr std::uint64_t kLookAfterBytes = 128 << 10;

bool has_begun(const Frame& frame) { return frame.sent > 0; }

// A window that is empty lets any slice pass: one smaller than that slows a link and never stops
// it.
bool has_room(std::uint64_t under_way, std::uint64_t room, std::uint64_t window) {
  return under_way == 0 || under_way + room <= window;
}

}  // namespace

// ---- what waits

void SendQueue::set_nesting(std::size_t frames, std::uint64_t bytes) {
  most_nested_ = frames;
  largest_nested_bytes_ = bytes;
}

void SendQueue::add_link(LinkId id) {
  const auto [found, is_new] = links_.try_emplace(id, spare_);
  Link& link = found->second;
  if (is_new) link.ordinary.window_bytes = link.bulk.window_bytes = link_window_bytes_;
}

void SendQueue::remove_link(LinkId id) {
  auto found = links_.find(id);
  if (found == links_.end()) return;
  Link& link = found->second;
  leave_pool(link);
  pools_[link.pool].ready.withdraw(id);
  control_ready_.erase(id);
  waiting_control_ -= link.control.size();
  waiting_ -= link.waiting;
  paused_ -= link.paused.size();
  Lane dropped;
  for (const Lane::iterator frame : link.lanes.find_all([](const Frame&) { return true; })) {
    link.lanes.take(frame, dropped);
  }
  dropped.splice(dropped.end(), link.paused);
  while (!dropped.empty()) frames_.drop(dropped, dropped.begin());
  links_.erase(found);
}

void SendQueue::push(LinkId id, Frame frame) {
  auto found = links_.find(id);
  if (found == links_.end()) return;
  Link& link = found->second;
  frame.order = ++orders_;
  frame.link = id;
  Lane waiting = frames_.add(std::move(frame));
  link.lanes.push_back(waiting, waiting.begin());
  ++link.waiting;
  ++waiting_;
  refresh(id, link);
}

void SendQueue::push_control(LinkId id, Frame frame) {
  auto found = links_.find(id);
  if (found == links_.end()) return;
  found->second.control.push_back(std::move(frame));
  ++found->second.waiting;
  ++waiting_;
  ++waiting_control_;
  control_changed(id, found->second);
}

void SendQueue::control_changed(LinkId id, const Link& link) {
  if (link.full || link.control.empty()) {
    control_ready_.erase(id);
  } else {
    control_ready_.insert(id);
  }
}

// ---- who changes his mind

// What tells the far end that the rest of a frame will not come.
Lane SendQueue::end_of(const Frame& frame) {
  Frame end = frame;
  end.payload = Buffer();
  end.tag = 0;
  end.paused = false;
  end.header.kind = wire::Kind::kMore;
  end.header.flags = wire::kAbandoned;
  return frames_.add(std::move(end));
}

// Takes a frame from where it waits.
void SendQueue::take_out(Link& link, Lane::iterator frame, Lane& to) {
  if (!frame->paused) return link.lanes.take(frame, to);
  frame->paused = false;
  --paused_;
  to.splice(to.end(), link.paused, frame);
}

// Calls `change(link, frame)` for those of one tag, and then sees what their links would send.
template <typename Change>
void SendQueue::steer(std::uint64_t tag, const Change& change) {
  frames_.for_each(tag, [&](Lane::iterator frame) {
    const LinkId id = frame->link;
    Link& link = links_.at(id);
    change(link, frame);
    refresh(id, link);
  });
}

// The far end holds the beginning of a frame whose first slice has left, so it must be told.
std::vector<wire::Key> SendQueue::cancel(std::uint64_t tag) {
  std::vector<wire::Key> untouched;
  steer(tag, [&](Link& link, Lane::iterator frame) {
    Lane dropped;
    take_out(link, frame, dropped);
    if (has_begun(*frame)) {
      Lane end = end_of(*frame);
      link.lanes.push_back(end, end.begin());
    } else {
      untouched.push_back(frame->header.key);
      --link.waiting;
      --waiting_;
    }
    frames_.drop(dropped, frame);
  });
  return untouched;
}

std::size_t SendQueue::untouched(std::uint64_t tag) const {
  std::size_t count = 0;
  frames_.for_each(tag, [&count](const Frame& frame) { count += has_begun(frame) ? 0 : 1; });
  return count;
}

void SendQueue::set_urgency(std::uint64_t tag, const Urgency& urgency) {
  steer(tag, [&urgency](Link& link, Lane::iterator frame) {
    Lane moving;
    if (!frame->paused) link.lanes.take(frame, moving);
    frame->header.priority = urgency.priority;
    frame->deadline = urgency.deadline;
    if (!frame->paused) link.lanes.push_back(moving, frame);
  });
}

void SendQueue::pause(std::uint64_t tag) {
  steer(tag, [this](Link& link, Lane::iterator frame) {
    if (frame->paused) return;
    link.lanes.take(frame, link.paused);
    frame->paused = true;
    ++paused_;
  });
}

void SendQueue::resume(std::uint64_t tag) {
  steer(tag, [this](Link& link, Lane::iterator frame) {
    if (!frame->paused) return;
    Lane moving;
    take_out(link, frame, moving);
    link.lanes.push_back(moving, frame);
  });
}

// ---- what goes

std::optional<SendQueue::Pick> SendQueue::next() {
  held_back_ = false;
  if (waiting_ == 0) return std::nullopt;
  if (auto pick = next_control()) return pick;
  if (waiting_ == waiting_control_ + paused_) return std::nullopt;
  if (since_oldest_bytes_ >= kLookAfterBytes) {
    if (auto pick = longest_waiting()) return pick;
  }
  return next_data();
}

std::optional<SendQueue::Pick> SendQueue::next_unshaped() {
  shaped_shut_ = true;
  const auto pick = next();
  shaped_shut_ = false;
  return pick;
}

std::optional<SendQueue::Pick> SendQueue::next_control() {
  if (control_ready_.empty()) return std::nullopt;
  const LinkId id = *control_ready_.begin();
  Frame& frame = links_.at(id).control.front();
  const auto bytes = static_cast<std::uint32_t>(frame.payload.size());
  return Pick{id, true, &frame, 0, bytes, true};
}

// With the quarter that may go with it, a slice is no larger than the largest.
std::uint64_t SendQueue::quantum_of(const Link& link, const Frame& frame) const {
  const Bounds& bounds = frame.bulk ? link.bulk : link.ordinary;
  return std::min(bounds.quantum_bytes, largest_slice_bytes_ / 5 * 4);
}

// True if the far end would have to hold one beginning more than it takes.
bool SendQueue::must_begin(const Link& link, const Frame& frame) const {
  return link.begun == wire::kMaxBegun && frame.sent == 0 &&
         frame.payload.size() > largest_slice_bytes_;
}

// A frame of this urgency must begin, and there are beginnings enough. One that is paused or less
// urgent is given up, to start over in its turn; among equals one that has begun goes first.
void SendQueue::make_room(Link& link, const Urgency& urgency) {
  const auto ends = [](const Frame& f) { return (f.header.flags & wire::kAbandoned) != 0; };
  Lane first;
  for (const Lane::iterator end : link.lanes.find_all(ends)) link.lanes.take(end, first);
  if (first.empty()) {
    auto victim = std::find_if(link.paused.begin(), link.paused.end(), has_begun);
    bool found = victim != link.paused.end();
    for (auto lane = link.lanes.end(); !found && lane != link.lanes.begin();) {
      --lane;
      Lane& frames = Lanes::frames(lane);
      victim = std::find_if(frames.begin(), frames.end(), has_begun);
      found = victim != frames.end();
      if (found && lane->first == urgency) return link.lanes.bring_forward(lane, victim);
    }
    if (!found) return;
    first = end_of(*victim);
    victim->sent = 0;
    ++link.waiting;
    ++waiting_;
  }
  while (!first.empty()) {
    first.front().header.priority = urgency.priority;
    first.front().deadline = urgency.deadline;
    link.lanes.push_front(first, first.begin());
  }
}

// The lane that goes on: that of the most urgent frame, but for what must not be interrupted now.
Lanes::Iterator SendQueue::turn_of(Link& link) const {
  const Frame& urgent = link.lanes.first();
  if (!link.nested || urgent.sent > 0 || urgent.payload.size() <= quantum_of(link, urgent)) {
    return link.lanes.begin();
  }
  const auto lane = link.lanes.find(link.nested->urgency);
  if (lane == link.lanes.end()) return link.lanes.begin();
  const Frame& nested = Lanes::frames(lane).front();
  const bool goes_on = nested.order == link.nested->order && nested.sent > 0;
  return goes_on ? lane : link.lanes.begin();
}

// What has its turn for having waited longest may be interrupted; what is paused interrupts nobody.
void SendQueue::note_begun(Link& link, const Frame& frame) {
  ++link.begun;
  if (link.begun < most_nested_ || frame.payload.size() > largest_nested_bytes_) return;
  const auto held =
      static_cast<std::size_t>(std::count_if(link.paused.begin(), link.paused.end(), has_begun));
  const Urgency urgency = frame.urgency();
  if (link.begun - held < most_nested_ || link.lanes.most_urgent() < urgency) return;
  link.nested = Link::Nested{urgency, frame.order};
}

SendQueue::Pick SendQueue::pick_of(LinkId id, const Link& link, Frame& frame) const {
  const std::uint64_t quantum = quantum_of(link, frame);
  const std::uint64_t left =
      frame.payload.size() - std::min<std::uint64_t>(frame.sent, frame.payload.size());
  // A rest that is little more than a quantum goes with it. Beginnings cost the far end memory.
  const bool last =
      left <= quantum + quantum / 4 || (frame.sent == 0 && link.begun == wire::kMaxBegun);
  const auto bytes = static_cast<std::uint32_t>(last ? left : quantum);
  return {id, false, &frame, frame.sent, bytes, last};
}

// Room for half a slice is room enough: so a window is used whatever it is a multiple of.
std::uint64_t SendQueue::room_of(const Link& link, const Frame& frame) const {
  const std::uint64_t slice =
      std::min<std::uint64_t>(frame.payload.size(), quantum_of(link, frame));
  return (wire::kHeaderBytes + slice) / 2;
}

// To be called after each change of what waits for a link, or of the room in its own window.
void SendQueue::refresh(LinkId id, Link& link) {
  ReadyLinks& ready = pools_[link.pool].ready;
  if (link.full || link.lanes.empty()) return ready.withdraw(id);
  const Frame& frame = link.lanes.first();
  const std::uint64_t room = room_of(link, frame);
  const bool bulk = frame.bulk || link.bulk_end_bytes > link.credited_bytes;
  const Bounds& bounds = bulk ? link.bulk : link.ordinary;
  if (!has_room(link.under_way(), room, bounds.window_bytes)) return ready.withdraw(id);
  ready.offer(id, {.urgency = link.lanes.most_urgent(),
                   .oldest = link.lanes.longest_order(),
                   .room = room,
                   .bulk = frame.bulk});
}

void SendQueue::refresh_all() {
  for (auto& [id, link] : links_) refresh(id, link);
}

bool SendQueue::fits(const Pool& pool, const ReadyLinks::Offer& offer) const {
  const bool bulk = offer.bulk || pool.bulk_links > 0;
  return has_room(pool.under_way, offer.room, bulk ? pool.bulk_window_bytes : pool.window_bytes);
}

std::span<SendQueue::Pool> SendQueue::open_pools() {
  return std::span(pools_).first(shaped_shut_ ? kShaped : kShaped + 1);
}

// Of equals: those after the link that was served last have their turn first.
bool SendQueue::is_before(LinkId id, LinkId other) const {
  const bool wraps = id <= last_served_;
  const bool other_wraps = other <= last_served_;
  return wraps != other_wraps ? other_wraps : id < other;
}

std::optional<SendQueue::Pick> SendQueue::next_data() {
  std::optional<LinkId> best;
  Urgency best_urgency;
  for (Pool& pool : open_pools()) {
    const auto found = pool.ready.most_urgent(
        last_served_, [&](const ReadyLinks::Offer& offer) { return fits(pool, offer); });
    if (!found) {
      held_back_ = held_back_ || (&pool == &pools_[kShaped] && !pool.ready.empty());
      continue;
    }
    const Urgency& urgency = pool.ready.of(*found).urgency;
    const bool first =
        !best || urgency < best_urgency || (urgency == best_urgency && is_before(*found, *best));
    if (!first) continue;
    best = found;
    best_urgency = urgency;
  }
  if (!best) return std::nullopt;
  Link& link = links_.at(*best);
  Lanes::Iterator lane = turn_of(link);
  if (must_begin(link, Lanes::frames(lane).front())) {
    make_room(link, link.lanes.most_urgent());
    refresh(*best, link);
    lane = link.lanes.begin();
  }
  return pick_of(*best, link, Lanes::frames(lane).front());
}

// Where nothing may begin and nothing paused would give its place up, others have their turn.
Lanes::Iterator SendQueue::longest_of(Link& link) {
  const bool gives_way =
      link.begun < wire::kMaxBegun || std::ranges::any_of(link.paused, has_begun);
  return link.lanes.longest(
      [&](const Frame& frame) { return gives_way || !must_begin(link, frame); });
}

std::optional<SendQueue::Pick> SendQueue::longest_waiting() {
  std::optional<LinkId> id;
  Lanes::Iterator oldest;
  for (Pool& pool : open_pools()) {
    pool.ready.by_age([&](const ReadyLinks::Offer& offer) { return fits(pool, offer); },
                      [&](LinkId candidate, const ReadyLinks::Offer& offer) {
                        if (id && offer.oldest > Lanes::frames(oldest).front().order) return false;
                        Link& link = links_.at(candidate);
                        const Lanes::Iterator lane = longest_of(link);
                        if (lane == link.lanes.end()) return true;
                        const std::uint64_t order = Lanes::frames(lane).front().order;
                        if (id && order > Lanes::frames(oldest).front().order) return true;
                        id = candidate;
                        oldest = lane;
                        return true;
                      });
  }
  if (!id) return std::nullopt;
  Link& link = links_.at(*id);
  Frame& waiting = Lanes::frames(oldest).front();
  const bool crowded = must_begin(link, waiting);
  const std::uint64_t charge = crowded ? wire::kHeaderBytes + quantum_of(link, waiting)
                                       : pick_of(*id, link, waiting).charge();
  if (since_oldest_bytes_ < kShareOfUrgent * charge) return std::nullopt;
  if (crowded) {  // What is paused gives its place up, and who waits goes right after its end.
    make_room(link, waiting.urgency());
    refresh(*id, link);
  } else {
    since_oldest_bytes_ = 0;
  }
  Pick pick = pick_of(*id, link, Lanes::frames(oldest).front());
  pick.aged = true;
  return pick;
}

void SendQueue::taken(const Pick& pick) {
  Link& link = links_.at(pick.link);
  if (pick.control) {
    link.control.pop_front();
    control_changed(pick.link, link);
    --waiting_control_;
    --link.waiting;
    --waiting_;
    return;
  }
  const std::uint64_t pooled = link.pooled();
  link.sent_bytes += pick.charge();
  if (pick.frame->bulk) link.bulk_end_bytes = link.sent_bytes;
  note_pooled(link, pooled);
  since_oldest_bytes_ += pick.charge();
  last_served_ = pick.link;
  const bool begun = pick.frame->sent > 0;
  if (!pick.last) {
    if (!begun) note_begun(link, *pick.frame);
    pick.frame->sent += pick.bytes;
    return refresh(pick.link, link);
  }
  if (begun) --link.begun;
  if (link.nested && link.nested->order == pick.frame->order) link.nested.reset();
  Lane gone;
  link.lanes.take(Lanes::frames(link.lanes.find(pick.frame->urgency())).begin(), gone);
  frames_.drop(gone, gone.begin());
  --link.waiting;
  --waiting_;
  refresh(pick.link, link);
}

void SendQueue::full(LinkId id) {
  Link& link = links_.at(id);
  link.full = true;
  control_changed(id, link);
  refresh(id, link);
}

void SendQueue::writable(LinkId id) {
  auto found = links_.find(id);
  if (found == links_.end()) return;
  found->second.full = false;
  control_changed(id, found->second);
  refresh(id, found->second);
}

// ---- for others to see

std::uint64_t SendQueue::under_way(LinkId link) const {
  auto found = links_.find(link);
  return found == links_.end() ? 0 : found->second.under_way();
}

std::uint64_t SendQueue::under_way() const {
  std::uint64_t all = 0;
  for (const auto& [id, link] : links_) all += link.under_way();
  return all;
}

std::uint64_t SendQueue::most_under_way() const {
  std::uint64_t most = 0;
  for (const auto& [id, link] : links_) most = std::max(most, link.under_way());
  return most;
}

std::uint64_t SendQueue::sent(LinkId link) const {
  auto found = links_.find(link);
  return found == links_.end() ? 0 : found->second.sent_bytes;
}

std::size_t SendQueue::waiting(LinkId link) const {
  auto found = links_.find(link);
  return found == links_.end() ? 0 : found->second.waiting;
}

bool SendQueue::has_work(LinkId link) const {
  auto found = links_.find(link);
  return found != links_.end() && !found->second.lanes.empty();
}

std::map<std::int32_t, std::size_t> SendQueue::waiting_by_priority() const {
  constexpr std::size_t kMost = 32;
  std::map<std::int32_t, std::size_t> waiting;
  for (const auto& [id, link] : links_) {
    link.lanes.for_each([&waiting](const Urgency& urgency, const Lane& lane) {
      waiting[urgency.priority] += lane.size();
    });
  }
  while (waiting.size() > kMost) waiting.erase(waiting.begin());
  return waiting;
}

}  // namespace stretto

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

}  // namespace

// ---- what waits

void SendQueue::set_nesting(std::size_t frames, std::uint64_t bytes) {
  most_nested_ = frames;
  largest_nested_bytes_ = bytes;
}

void SendQueue::add_link(LinkId id) {
  const auto [found, is_new] = links_.try_emplace(id);
  Link& link = found->second;
  if (is_new) link.ordinary.window_bytes = link.bulk.window_bytes = link_window_bytes_;
}

void SendQueue::remove_link(LinkId id) {
  auto found = links_.find(id);
  if (found == links_.end()) return;
  Link& link = found->second;
  leave_pool(link);
  waiting_control_ -= link.control.size();
  waiting_ -= link.waiting;
  paused_ -= link.paused.size();
  links_.erase(found);
}

void SendQueue::push(LinkId id, Frame frame) {
  auto found = links_.find(id);
  if (found == links_.end()) return;
  frame.order = ++orders_;
  put(found->second, std::move(frame));
  ++found->second.waiting;
  ++waiting_;
}

void SendQueue::put(Link& link, Frame frame) {
  const Urgency urgency = frame.urgency();
  auto lane = link.lanes.find(urgency);
  if (lane == link.lanes.end()) {
    if (spare_.empty()) {
      lane = link.lanes.try_emplace(urgency).first;
    } else {
      spare_.key() = urgency;
      lane = link.lanes.insert(std::move(spare_)).position;
    }
  }
  lane->second.push_back(std::move(frame));
}

void SendQueue::end_lane(Link& link, Lanes::iterator lane) {
  spare_ = link.lanes.extract(lane);
  spare_.mapped().clear();
}

void SendQueue::push_control(LinkId id, Frame frame) {
  auto found = links_.find(id);
  if (found == links_.end()) return;
  found->second.control.push_back(std::move(frame));
  ++found->second.waiting;
  ++waiting_;
  ++waiting_control_;
}

// Frames that `wanted` names, out of the lanes and in their order there.
template <typename Wanted>
std::vector<Frame> SendQueue::take_out(Link& link, const Wanted& wanted) {
  std::vector<Frame> taken;
  for (auto lane = link.lanes.begin(); lane != link.lanes.end();) {
    Lane& frames = lane->second;
    const auto kept = std::stable_partition(
        frames.begin(), frames.end(), [&wanted](const Frame& frame) { return !wanted(frame); });
    std::move(kept, frames.end(), std::back_inserter(taken));
    frames.erase(kept, frames.end());
    lane = frames.empty() ? link.lanes.erase(lane) : std::next(lane);
  }
  return taken;
}

// The far end holds the beginning of a frame whose first slice has left, so it must be told.
template <typename Doomed>
std::vector<wire::Key> SendQueue::drop(const Doomed& doomed) {
  std::vector<wire::Key> untouched;
  const auto all = [&doomed](const Frame& frame) {
    return doomed(frame) && (frame.header.flags & wire::kAbandoned) == 0;
  };
  for (auto& [id, link] : links_) {
    std::vector<Frame> dropped = take_out(link, all);
    for (auto it = link.paused.begin(); it != link.paused.end();) {
      if (!all(*it)) {
        ++it;
        continue;
      }
      dropped.push_back(std::move(*it));
      it = link.paused.erase(it);
      --paused_;
    }
    for (Frame& frame : dropped) {
      if (frame.sent == 0) {
        --link.waiting;
        --waiting_;
        untouched.push_back(frame.header.key);
        continue;
      }
      put(link, end_of(frame));
    }
  }
  return untouched;
}

// What tells the far end that the rest of a frame will not come.
Frame SendQueue::end_of(const Frame& frame) {
  Frame end = frame;
  end.payload = Buffer();
  end.tag = 0;
  end.header.kind = wire::Kind::kMore;
  end.header.flags = wire::kAbandoned;
  return end;
}

void SendQueue::discard(std::uint32_t tensor) {
  drop([tensor](const Frame& frame) { return frame.header.key.tensor == tensor; });
}

std::vector<wire::Key> SendQueue::cancel(std::uint64_t tag) {
  return drop([tag](const Frame& frame) { return frame.tag == tag; });
}

std::size_t SendQueue::untouched(std::uint64_t tag) const {
  std::size_t count = 0;
  const auto waits = [tag](const Frame& frame) { return frame.tag == tag && frame.sent == 0; };
  const auto count_in = [&](const Lane& lane) {
    count += static_cast<std::size_t>(std::count_if(lane.begin(), lane.end(), waits));
  };
  for (const auto& [id, link] : links_) {
    for (const auto& [urgency, lane] : link.lanes) count_in(lane);
    count_in(link.paused);
  }
  return count;
}

void SendQueue::set_urgency(std::uint64_t tag, const Urgency& urgency) {
  const auto change = [&urgency](Frame& frame) {
    frame.header.priority = urgency.priority;
    frame.deadline = urgency.deadline;
  };
  for (auto& [id, link] : links_) {
    for (Frame& frame : take_out(link, [tag](const Frame& f) { return f.tag == tag; })) {
      change(frame);
      put(link, std::move(frame));
    }
    for (Frame& frame : link.paused) {
      if (frame.tag == tag) change(frame);
    }
  }
}

void SendQueue::pause(std::uint64_t tag) {
  for (auto& [id, link] : links_) {
    for (Frame& frame : take_out(link, [tag](const Frame& f) { return f.tag == tag; })) {
      link.paused.push_back(std::move(frame));
      ++paused_;
    }
  }
}

void SendQueue::resume(std::uint64_t tag) {
  for (auto& [id, link] : links_) {
    for (auto it = link.paused.begin(); it != link.paused.end();) {
      if (it->tag != tag) {
        ++it;
        continue;
      }
      put(link, std::move(*it));
      it = link.paused.erase(it);
      --paused_;
    }
  }
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
  if (waiting_control_ == 0) return std::nullopt;
  for (auto& [id, link] : links_) {
    if (link.full || link.control.empty()) continue;
    Frame& frame = link.control.front();
    const auto bytes = static_cast<std::uint32_t>(frame.payload.size());
    return Pick{id, true, &frame, 0, bytes, true};
  }
  return std::nullopt;
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
  std::vector<Frame> first = take_out(link, ends);
  if (first.empty()) {
    auto victim = std::find_if(link.paused.begin(), link.paused.end(), has_begun);
    bool found = victim != link.paused.end();
    for (auto lane = link.lanes.rbegin(); !found && lane != link.lanes.rend(); ++lane) {
      victim = std::find_if(lane->second.begin(), lane->second.end(), has_begun);
      found = victim != lane->second.end();
      if (found && lane->first == urgency) {
        std::rotate(lane->second.begin(), victim, std::next(victim));
        return;
      }
    }
    if (!found) return;
    first.push_back(end_of(*victim));
    victim->sent = 0;
    ++link.waiting;
    ++waiting_;
  }
  for (Frame& end : first) {
    end.header.priority = urgency.priority;
    end.deadline = urgency.deadline;
    link.lanes[urgency].push_front(std::move(end));
  }
}

// The lane that goes on: that of the most urgent frame, but for what must not be interrupted now.
Lane& SendQueue::turn_of(Link& link) const {
  Lane& first = link.lanes.begin()->second;
  const Frame& urgent = first.front();
  if (!link.nested || urgent.sent > 0 || urgent.payload.size() <= quantum_of(link, urgent)) {
    return first;
  }
  const auto lane = link.lanes.find(link.nested->urgency);
  if (lane == link.lanes.end()) return first;
  const Frame& nested = lane->second.front();
  return nested.order == link.nested->order && nested.sent > 0 ? lane->second : first;
}

// What has its turn for having waited longest may be interrupted; what is paused interrupts nobody.
void SendQueue::note_begun(Link& link, const Frame& frame) {
  ++link.begun;
  if (link.begun < most_nested_ || frame.payload.size() > largest_nested_bytes_) return;
  const auto held =
      static_cast<std::size_t>(std::count_if(link.paused.begin(), link.paused.end(), has_begun));
  const Urgency urgency = frame.urgency();
  if (link.begun - held < most_nested_ || link.lanes.begin()->first < urgency) return;
  link.nested = Link::Nested{urgency, frame.order};
}

SendQueue::Pick SendQueue::pick_of(LinkId id, Link& link, Lane& lane) const {
  Frame& frame = lane.front();
  const std::uint64_t quantum = quantum_of(link, frame);
  const std::uint64_t left =
      frame.payload.size() - std::min<std::uint64_t>(frame.sent, frame.payload.size());
  // A rest that is little more than a quantum goes with it. Beginnings cost the far end memory.
  const bool last =
      left <= quantum + quantum / 4 || (frame.sent == 0 && link.begun == wire::kMaxBegun);
  const auto bytes = static_cast<std::uint32_t>(last ? left : quantum);
  return {id, false, &frame, frame.sent, bytes, last};
}

// Room for half a slice is room enough: so a window is used whatever it is a multiple of. One that
// is empty lets any slice pass: a window smaller than that slows a link and never stops it.
bool SendQueue::may_go(const Link& link) {
  if (link.full || link.lanes.empty() || (shaped_shut_ && link.pool == kShaped)) return false;
  const Frame& frame = link.lanes.begin()->second.front();
  const std::uint64_t slice =
      std::min<std::uint64_t>(frame.payload.size(), quantum_of(link, frame));
  const std::uint64_t half = (wire::kHeaderBytes + slice) / 2;
  const auto has_room = [half](std::uint64_t under_way, std::uint64_t window) {
    return under_way == 0 || under_way + half <= window;
  };
  const bool bulk = frame.bulk || link.bulk_end_bytes > link.credited_bytes;
  const Bounds& bounds = bulk ? link.bulk : link.ordinary;
  if (!has_room(link.under_way(), bounds.window_bytes)) return false;
  const Pool& pool = pools_[link.pool];
  const bool pools_bulk = frame.bulk || pool.bulk_links > 0;
  const std::uint64_t window = pools_bulk ? pool.bulk_window_bytes : pool.window_bytes;
  if (has_room(pool.under_way, window)) return true;
  held_back_ = held_back_ || link.pool == kShaped;
  return false;
}

std::optional<SendQueue::Pick> SendQueue::next_data() {
  Link* best = nullptr;
  LinkId best_id = 0;
  // Starting after the link served last makes equals take turns.
  const auto consider = [&](LinkId id, Link& link) {
    if (!may_go(link)) return;
    if (best == nullptr || link.lanes.begin()->first < best->lanes.begin()->first) {
      best = &link;
      best_id = id;
    }
  };
  const auto start = links_.upper_bound(last_served_);
  for (auto it = start; it != links_.end(); ++it) consider(it->first, it->second);
  for (auto it = links_.begin(); it != start; ++it) consider(it->first, it->second);
  if (best == nullptr) return std::nullopt;
  Lane& lane = turn_of(*best);
  if (!must_begin(*best, lane.front())) return pick_of(best_id, *best, lane);
  make_room(*best, best->lanes.begin()->first);
  return pick_of(best_id, *best, best->lanes.begin()->second);
}

std::optional<SendQueue::Pick> SendQueue::longest_waiting() {
  Link* link_found = nullptr;
  LinkId id_found = 0;
  Lane* oldest = nullptr;
  for (auto& [id, link] : links_) {
    if (!may_go(link)) continue;
    for (auto& [urgency, lane] : link.lanes) {
      if (oldest != nullptr && lane.front().order > oldest->front().order) continue;
      if (must_begin(link, lane.front()) && !std::ranges::any_of(link.paused, has_begun)) continue;
      oldest = &lane;
      link_found = &link;
      id_found = id;
    }
  }
  if (oldest == nullptr) return std::nullopt;
  const Frame& waiting = oldest->front();
  const bool crowded = must_begin(*link_found, waiting);
  const std::uint64_t charge = crowded ? wire::kHeaderBytes + quantum_of(*link_found, waiting)
                                       : pick_of(id_found, *link_found, *oldest).charge();
  if (since_oldest_bytes_ < kShareOfUrgent * charge) return std::nullopt;
  if (crowded) {  // What is paused gives its place up, and who waits goes right after its end.
    make_room(*link_found, waiting.urgency());
  } else {
    since_oldest_bytes_ = 0;
  }
  Pick pick = pick_of(id_found, *link_found, *oldest);
  pick.aged = true;
  return pick;
}

void SendQueue::taken(const Pick& pick) {
  Link& link = links_.at(pick.link);
  if (pick.control) {
    link.control.pop_front();
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
    return;
  }
  if (begun) --link.begun;
  const auto lane = link.lanes.find(pick.frame->urgency());
  if (link.nested && link.nested->order == lane->second.front().order) link.nested.reset();
  lane->second.pop_front();
  if (lane->second.empty()) end_lane(link, lane);
  --link.waiting;
  --waiting_;
}

void SendQueue::full(LinkId link) { links_.at(link).full = true; }

void SendQueue::writable(LinkId link) {
  auto found = links_.find(link);
  if (found != links_.end()) found->second.full = false;
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
    for (const auto& [urgency, lane] : link.lanes) waiting[urgency.priority] += lane.size();
  }
  while (waiting.size() > kMost) waiting.erase(waiting.begin());
  return waiting;
}

}  // namespace stretto

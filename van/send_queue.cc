// SPDX-License-Identifier: Apache-2.0
// Late binding: the choice is made when the transport can take a frame, not when it was queued.
#include "van/send_queue.h"

#include <algorithm>
#include <iterator>

namespace stretto {

void SendQueue::set_windows(std::uint64_t link_window_bytes, std::uint64_t total_window_bytes) {
  link_window_bytes_ = link_window_bytes;
  total_window_bytes_ = total_window_bytes;
}

void SendQueue::add_link(LinkId link) { links_.try_emplace(link); }

void SendQueue::remove_link(LinkId link) {
  auto found = links_.find(link);
  if (found == links_.end()) return;
  total_under_way_ -= found->second.sent_bytes - found->second.credited_bytes;
  waiting_control_ -= found->second.control.size();
  waiting_ -= found->second.waiting;
  links_.erase(found);
}

void SendQueue::push(LinkId link, Frame frame) {
  auto found = links_.find(link);
  if (found == links_.end()) return;
  found->second.lanes[frame.header.priority].push_back(std::move(frame));
  ++found->second.waiting;
  ++waiting_;
}

void SendQueue::push_control(LinkId link, Frame frame) {
  auto found = links_.find(link);
  if (found == links_.end()) return;
  found->second.control.push_back(std::move(frame));
  ++found->second.waiting;
  ++waiting_;
  ++waiting_control_;
}

void SendQueue::discard(std::uint32_t tensor) {
  const auto doomed = [tensor](const Frame& frame) { return frame.header.key.tensor == tensor; };
  for (auto& [id, link] : links_) {
    for (auto lane = link.lanes.begin(); lane != link.lanes.end();) {
      const std::size_t erased = std::erase_if(lane->second, doomed);
      link.waiting -= erased;
      waiting_ -= erased;
      lane = lane->second.empty() ? link.lanes.erase(lane) : std::next(lane);
    }
  }
}

// A window that is open lets one whole frame pass, even one larger than the window: so a window
// smaller than a frame slows a link and never stops it.
bool SendQueue::window_open(const Link& link) const {
  return link.sent_bytes - link.credited_bytes < link_window_bytes_ &&
         total_under_way_ < total_window_bytes_;
}

std::optional<SendQueue::Pick> SendQueue::next() {
  if (waiting_ == 0) return std::nullopt;
  if (auto pick = next_control()) return pick;
  return next_data();
}

std::optional<SendQueue::Pick> SendQueue::next_control() {
  if (waiting_control_ == 0) return std::nullopt;
  for (auto& [id, link] : links_) {
    if (!link.full && !link.control.empty()) return Pick{id, true, &link.control.front()};
  }
  return std::nullopt;
}

std::optional<SendQueue::Pick> SendQueue::next_data() {
  if (waiting_ == waiting_control_) return std::nullopt;
  Link* best = nullptr;
  LinkId best_id = 0;
  // Starting after the link served last makes equals take turns.
  const auto consider = [&](LinkId id, Link& link) {
    if (link.full || link.lanes.empty() || !window_open(link)) return;
    if (best == nullptr || link.lanes.begin()->first > best->lanes.begin()->first) {
      best = &link;
      best_id = id;
    }
  };
  const auto start = links_.upper_bound(last_served_);
  for (auto it = start; it != links_.end(); ++it) consider(it->first, it->second);
  for (auto it = links_.begin(); it != start; ++it) consider(it->first, it->second);
  if (best == nullptr) return std::nullopt;
  return Pick{best_id, false, &best->lanes.begin()->second.front()};
}

void SendQueue::taken(const Pick& pick) {
  Link& link = links_.at(pick.link);
  --waiting_;
  --link.waiting;
  if (pick.control) {
    link.control.pop_front();
    --waiting_control_;
    return;
  }
  auto lane = link.lanes.begin();
  const std::uint64_t charge = lane->second.front().charge();
  link.sent_bytes += charge;
  total_under_way_ += charge;
  lane->second.pop_front();
  if (lane->second.empty()) link.lanes.erase(lane);
  last_served_ = pick.link;
}

void SendQueue::full(LinkId link) { links_.at(link).full = true; }

void SendQueue::writable(LinkId link) {
  auto found = links_.find(link);
  if (found != links_.end()) found->second.full = false;
}

bool SendQueue::credited(LinkId link, std::uint64_t taken_bytes) {
  auto found = links_.find(link);
  if (found == links_.end()) return true;
  Link& state = found->second;
  if (taken_bytes > state.sent_bytes) return false;
  if (taken_bytes > state.credited_bytes) {
    total_under_way_ -= taken_bytes - state.credited_bytes;
    state.credited_bytes = taken_bytes;
  }
  return true;
}

std::uint64_t SendQueue::under_way(LinkId link) const {
  auto found = links_.find(link);
  return found == links_.end() ? 0 : found->second.sent_bytes - found->second.credited_bytes;
}

std::size_t SendQueue::waiting(LinkId link) const {
  auto found = links_.find(link);
  return found == links_.end() ? 0 : found->second.waiting;
}

std::uint64_t SendQueue::most_under_way() const {
  std::uint64_t most = 0;
  for (const auto& [id, link] : links_)
    most = std::max(most, link.sent_bytes - link.credited_bytes);
  return most;
}

}  // namespace stretto

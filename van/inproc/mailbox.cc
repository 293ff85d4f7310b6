// SPDX-License-Identifier: Apache-2.0
// One lock, held only to move events; leases and callbacks end outside it.
#include "van/inproc/mailbox.h"

#include <algorithm>
#include <utility>

#include "common/clock.h"

namespace stretto::inproc {
namespace {

constexpr Duration kLongest = std::chrono::hours(1);

}  // namespace

LinkId Mailbox::reserve() {
  const MutexLock lock(mutex_);
  lines_[++last_link_];
  return last_link_;
}

std::vector<Event> Mailbox::take(std::size_t limit, Duration wait) {
  const Time until = SteadyClock().now() + std::clamp(wait, Duration::zero(), kLongest);
  std::vector<Event> taken;
  const MutexLock lock(mutex_);
  while (events_.empty() && !woken_ && wait > Duration::zero()) {
    if (changed_.wait_until(mutex_, until) == std::cv_status::timeout) break;
  }
  woken_ = false;
  const std::size_t count = std::min(limit, events_.size());
  taken.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    note_taken(events_.front());
    taken.push_back(std::move(events_.front()));
    events_.pop_front();
  }
  return taken;
}

void Mailbox::note_taken(Event& event) {
  const auto line = lines_.find(event.link);
  if (line == lines_.end()) return;
  if (event.kind == Event::Kind::kWritable) line->second.room_told = false;
  if (event.kind != Event::Kind::kFrame) return;
  --line->second.queued;
  event.made_room = line->second.sender_waits && line->second.queued <= queue_frames_ / 2;
  if (event.made_room) line->second.sender_waits = false;
}

void Mailbox::forget(LinkId link) {
  std::vector<Event> dropped;  // Ends its leases after the lock.
  const MutexLock lock(mutex_);
  lines_.erase(link);
  const auto keep = std::stable_partition(
      events_.begin(), events_.end(), [link](const Event& event) { return event.link != link; });
  std::move(keep, events_.end(), std::back_inserter(dropped));
  events_.erase(keep, events_.end());
}

std::deque<Event> Mailbox::shut() {
  const MutexLock lock(mutex_);
  shut_ = true;
  lines_.clear();
  return std::exchange(events_, {});
}

LinkId Mailbox::open(FarEnd far) {
  const MutexLock lock(mutex_);
  if (shut_) return 0;
  lines_[++last_link_];
  events_.push_back({.kind = Event::Kind::kOpened, .link = last_link_, .far = std::move(far)});
  changed_.notify_all();
  return last_link_;
}

Transport::Sent Mailbox::push(LinkId link, const wire::Header& header, const Buffer& payload) {
  using enum Transport::Sent;
  const MutexLock lock(mutex_);
  const auto line = lines_.find(link);
  if (line == lines_.end()) return kBroken;
  if (line->second.queued >= queue_frames_) {
    line->second.sender_waits = true;
    return kFull;
  }
  ++line->second.queued;
  events_.push_back({.kind = Event::Kind::kFrame,
                     .link = link,
                     .header = wire::encode(header),
                     .payload = payload});
  changed_.notify_all();
  return kTaken;
}

void Mailbox::broke(LinkId link, Status why) {
  const MutexLock lock(mutex_);
  if (lines_.erase(link) == 0) return;
  events_.push_back({.kind = Event::Kind::kBroken, .link = link, .why = std::move(why)});
  changed_.notify_all();
}

void Mailbox::writable(LinkId link) {
  const MutexLock lock(mutex_);
  const auto line = lines_.find(link);
  if (line == lines_.end() || std::exchange(line->second.room_told, true)) return;
  events_.push_back({.kind = Event::Kind::kWritable, .link = link});
  changed_.notify_all();
}

void Mailbox::wake() {
  const MutexLock lock(mutex_);
  woken_ = true;
  changed_.notify_all();
}

}  // namespace stretto::inproc

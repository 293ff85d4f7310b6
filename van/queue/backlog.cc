// SPDX-License-Identifier: Apache-2.0
// Maps tags and links to the queues that hold the frames.
#include "van/queue/backlog.h"

#include <utility>

#include "common/check.h"

namespace stretto {

void Backlog::add(LinkId link) { links_.add(link, frames_, spare_); }

void Backlog::remove(LinkId id) {
  LinkQueue* queue = find(id);
  if (queue == nullptr) return;
  STRETTO_CHECK(controls_ >= queue->controls());
  controls_ -= queue->controls();
  queue->clear();
  if (queue->changed) std::erase(changed_, id);
  links_.remove(id);
}

void Backlog::touch(LinkId id, LinkQueue& queue) {
  if (!std::exchange(queue.changed, true)) changed_.push_back(id);
}

void Backlog::push(LinkId id, Frame&& frame) {
  stirred_ = true;
  LinkQueue* queue = find(id);
  if (queue == nullptr) return;
  frame.order = ++orders_;
  frame.link = id;
  queue->push(std::move(frame));
  touch(id, *queue);
}

void Backlog::push_control(LinkId id, Frame&& frame) {
  stirred_ = true;
  LinkQueue* queue = find(id);
  if (queue == nullptr) return;
  queue->push_control(std::move(frame));
  ++controls_;
  touch(id, *queue);
}

void Backlog::pop_control(LinkId id) {
  LinkQueue& queue = links_.at(id);
  queue.pop_control();
  STRETTO_CHECK(controls_ > 0);
  --controls_;
  touch(id, queue);
}

void Backlog::taken(LinkId id, Frame& frame, const Slice& slice) {
  LinkQueue& queue = links_.at(id);
  queue.taken(frame, slice, nesting_);
  touch(id, queue);
}

Frame& Backlog::make_room(LinkId id, const Urgency& urgency) {
  LinkQueue& queue = links_.at(id);
  touch(id, queue);
  return queue.make_room(urgency);
}

// ---- steering

// Calls `change(queue, frame)` for the frames of a tag.
template <typename Change>
void Backlog::steer(std::uint64_t tag, const Change& change) {
  frames_.for_each(tag, [&](FrameList::iterator frame) {
    const LinkId id = frame->link;
    LinkQueue& queue = links_.at(id);
    change(queue, frame);
    touch(id, queue);
  });
}

std::vector<wire::Key> Backlog::cancel(std::uint64_t tag) {
  stirred_ = true;
  std::vector<wire::Key> untouched;
  steer(tag, [&](LinkQueue& queue, FrameList::iterator frame) {
    const wire::Key key = frame->header.key;
    if (queue.cancel(frame)) untouched.push_back(key);
  });
  return untouched;
}

void Backlog::set_urgency(std::uint64_t tag, const Urgency& urgency) {
  steer(tag, [&urgency](LinkQueue& queue, FrameList::iterator frame) {
    queue.set_urgency(frame, urgency);
  });
}

void Backlog::pause(std::uint64_t tag) {
  steer(tag, [](LinkQueue& queue, FrameList::iterator frame) { queue.pause(frame); });
}

void Backlog::resume(std::uint64_t tag) {
  stirred_ = true;
  steer(tag, [](LinkQueue& queue, FrameList::iterator frame) { queue.resume(frame); });
}

// ---- inspection

std::size_t Backlog::untouched(std::uint64_t tag) const {
  std::size_t count = 0;
  frames_.for_each(tag, [&count](const Frame& frame) { count += frame.sent > 0 ? 0 : 1; });
  return count;
}

std::size_t Backlog::waiting(LinkId link) const {
  const LinkQueue* queue = links_.find(link);
  return queue == nullptr ? 0 : queue->waiting();
}

bool Backlog::has_data(LinkId link) const {
  const LinkQueue* queue = links_.find(link);
  return queue != nullptr && queue->has_data();
}

std::optional<Urgency> Backlog::most_urgent(LinkId link) const {
  const LinkQueue* queue = links_.find(link);
  if (queue == nullptr || !queue->has_data()) return std::nullopt;
  return queue->lanes().most_urgent();
}

std::map<std::int32_t, std::size_t> Backlog::waiting_by_priority() const {
  constexpr std::size_t kMost = 32;
  std::map<std::int32_t, std::size_t> waiting;
  for (const auto& [id, queue] : links_) {
    queue.lanes().for_each([&waiting](const Urgency& urgency, const FrameList& lane) {
      waiting[urgency.priority] += lane.size();
    });
  }
  while (waiting.size() > kMost) waiting.erase(waiting.begin());
  return waiting;
}

}  // namespace stretto

// SPDX-License-Identifier: Apache-2.0
// The consumer takes all that is ready under one lock, and wakes the engine only if that waits for
// room: a sample of a hundred bytes must not cost a system call.
#include "input/reader/sample_queue.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>

#include "common/threads/interruptible.h"

namespace stretto::input {

void SampleQueue::put(std::vector<Item>& items) {
  if (items.empty()) return;
  for (const Item& item : items) {
    if (item.kind == Item::Kind::kEpochEnd) ends_.fetch_add(1);
  }
  {
    MutexLock lock(mutex_);
    std::ranges::move(items, std::back_inserter(ready_));
  }
  items.clear();
  filled_.notify_all();  // Without the lock, which the woken thread needs first.
}

bool SampleQueue::room_for(std::uint64_t bytes) {
  const auto fits = [&] {
    return used_.load() + static_cast<std::int64_t>(bytes) <=
           static_cast<std::int64_t>(most_bytes_);
  };
  if (fits()) return true;
  starved_.store(true);
  return fits();  // The consumer may have looked just before.
}

bool SampleQueue::far_ahead(int planned) {
  if (ends_.load() + planned < kMostEnds) return false;
  starved_.store(true);
  return ends_.load() + planned >= kMostEnds;
}

void SampleQueue::tell_of_room() {
  const auto low = static_cast<std::int64_t>(most_bytes_ - most_bytes_ / 4);
  if (starved_.load() && used_.load() <= low && starved_.exchange(false)) wake_();
}

bool SampleQueue::fetch() {
  MutexLock lock(mutex_);
  std::ranges::move(ready_, std::back_inserter(taken_));
  ready_.clear();
  return !taken_.empty();
}

// The look may run a program's code, so the engine must not wait for this lock meanwhile.
bool SampleQueue::await_items() {
  do {
    MutexLock lock(mutex_);
    const Time look = std::chrono::steady_clock::now() + Interruptible::kBetween;
    while (ready_.empty() && filled_.wait_until(mutex_, look) != std::cv_status::timeout) continue;
    if (!ready_.empty()) return true;
  } while (Interruptible::goes_on());
  return false;
}

std::optional<Item> SampleQueue::take() {
  if (taken_.empty() && !fetch()) {
    meter_.waits(clock_.now());
    const bool came = await_items();
    meter_.goes_on(clock_.now());
    if (!came || !fetch()) return std::nullopt;
  }
  Item item = std::move(taken_.front());
  taken_.pop_front();
  if (item.kind == Item::Kind::kEpochEnd) ends_.fetch_sub(1);
  used_.fetch_sub(static_cast<std::int64_t>(item.cost));
  meter_.delivered(item.sample.bytes.size());
  tell_of_room();
  return item;
}

}  // namespace stretto::input

// SPDX-License-Identifier: Apache-2.0
// epoll, with the number of a watch beside its descriptor.
#include "tools/launch/process/poller.h"

#include <sys/epoll.h>

#include <algorithm>
#include <vector>

namespace stretto::launch {
namespace {

constexpr std::int64_t kMostMilliseconds = 86'400'000;

}  // namespace

Poller::Poller() : epoll_(::epoll_create1(EPOLL_CLOEXEC)) {}

bool Poller::watch(int descriptor, std::uint32_t events, Callback callback) {
  owner_.check();
  const std::uint32_t generation = ++generations_;
  epoll_event event{};
  event.events = events;
  event.data.u64 = (std::uint64_t{generation} << 32) | static_cast<std::uint32_t>(descriptor);
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, descriptor, &event) != 0) return false;
  watched_[descriptor] = {generation, std::make_shared<const Callback>(std::move(callback))};
  return true;
}

void Poller::unwatch(int descriptor) {
  owner_.check();
  if (watched_.erase(descriptor) == 0) return;
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, descriptor, nullptr);
}

void Poller::turn(std::optional<Duration> patience) {
  owner_.check();
  std::int64_t milliseconds = -1;
  if (patience) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(*patience);
    milliseconds = std::clamp<std::int64_t>(left.count(), 0, kMostMilliseconds);
  }
  std::vector<epoll_event> events(watched_.size() + 1);
  const int count = ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()),
                                 static_cast<int>(milliseconds));
  events.resize(static_cast<std::size_t>(std::max(count, 0)));
  for (const epoll_event& event : events) {
    const auto found = watched_.find(static_cast<int>(event.data.u64 & 0xffffffff));
    if (found == watched_.end() || found->second.generation != event.data.u64 >> 32) continue;
    const std::shared_ptr<const Callback> callback = found->second.callback;
    (*callback)();
  }
}

}  // namespace stretto::launch

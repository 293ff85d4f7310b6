// SPDX-License-Identifier: Apache-2.0
// epoll, and an eventfd to be woken by.
#include "van/zmq/poller.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "common/check.h"
#include "van/zmq/handles.h"

namespace stretto::zmq {
namespace {

constexpr int kEventsAtOnce = 64;
constexpr Duration kLongest = std::chrono::hours(1);

int milliseconds(Duration wait) {
  const Duration bounded = std::clamp(wait, Duration::zero(), kLongest);
  return static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(bounded).count());
}

}  // namespace

Poller::~Poller() {
  if (epoll_ >= 0) ::close(epoll_);
  if (wake_ >= 0) ::close(wake_);
}

Status Poller::open() {
  epoll_ = ::epoll_create1(EPOLL_CLOEXEC);
  if (epoll_ < 0) return failure("wanted an epoll descriptor", errno);
  wake_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (wake_ < 0) return failure("wanted an eventfd descriptor", errno);
  return add(wake_, kWakeToken);
}

Status Poller::add(int descriptor, std::uint64_t token) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = token;
  if (::epoll_ctl(epoll_, EPOLL_CTL_ADD, descriptor, &event) == 0) return {};
  return failure("wanted to watch a descriptor", errno);
}

void Poller::remove(int descriptor) {
  STRETTO_CHECK(::epoll_ctl(epoll_, EPOLL_CTL_DEL, descriptor, nullptr) == 0);
}

const std::vector<std::uint64_t>& Poller::wait(Duration wait, bool& woken) {
  std::array<epoll_event, kEventsAtOnce> events;
  const int count = ::epoll_wait(epoll_, events.data(), kEventsAtOnce, milliseconds(wait));
  tokens_.clear();
  for (int i = 0; i < count; ++i) {  // count is -1 if a signal came: then nothing is readable.
    const std::uint64_t token = events[static_cast<std::size_t>(i)].data.u64;
    if (token != kWakeToken) {
      tokens_.push_back(token);
      continue;
    }
    std::uint64_t wakes = 0;
    woken = ::read(wake_, &wakes, sizeof wakes) == sizeof wakes || woken;
  }
  return tokens_;
}

void Poller::wake() {
  const std::uint64_t one = 1;
  // It is refused only if 2^64 - 2 wakes are pending, and then one more would change nothing.
  if (::write(wake_, &one, sizeof one) < 0) return;
}

}  // namespace stretto::zmq

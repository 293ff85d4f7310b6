// SPDX-License-Identifier: Apache-2.0
// The calls of epoll, and the eventfd behind wake().
#include "van/transport/epoll_set.h"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "common/check.h"
#include "common/system_error.h"

namespace stretto {
namespace {

constexpr std::size_t kEventsAtOnce = 64;
constexpr Duration kLongest = std::chrono::hours(1);

}  // namespace

Status EpollSet::open() {
  epoll_ = Descriptor(::epoll_create1(EPOLL_CLOEXEC));
  if (!epoll_.is_open()) return failure("wanted an epoll descriptor", errno);
  wake_ = Descriptor(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake_.is_open()) return failure("wanted an eventfd descriptor", errno);
  // Edge-triggered, so that no thread has to read it: each wake is reported once.
  epoll_event event{};
  event.events = EPOLLIN | EPOLLET;
  event.data.u64 = kWakeToken;
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, wake_.get(), &event) == 0) return {};
  return failure("wanted to watch an eventfd descriptor", errno);
}

Status EpollSet::add(int descriptor, std::uint64_t token) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = token;
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, descriptor, &event) == 0) return {};
  return failure("wanted to watch a descriptor", errno);
}

void EpollSet::want_room(int descriptor, std::uint64_t token, bool wanted) {
  epoll_event event{};
  event.events = EPOLLIN;
  if (wanted) event.events |= EPOLLOUT;
  event.data.u64 = token;
  STRETTO_CHECK(::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, descriptor, &event) == 0);
}

void EpollSet::remove(int descriptor) {
  STRETTO_CHECK(::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, descriptor, nullptr) == 0);
}

const std::vector<std::uint64_t>& EpollSet::wait(Duration wait, bool& woken) {
  std::array<epoll_event, kEventsAtOnce> events;
  const Duration bounded = std::clamp(wait, Duration::zero(), kLongest);
  const auto milliseconds = std::chrono::ceil<std::chrono::milliseconds>(bounded).count();
  const int count =
      ::epoll_wait(epoll_.get(), events.data(), kEventsAtOnce, static_cast<int>(milliseconds));
  tokens_.clear();
  for (int i = 0; i < count; ++i) {  // count is -1 after a signal: then nothing is readable.
    const std::uint64_t token = events[static_cast<std::size_t>(i)].data.u64;
    if (token == kWakeToken) {
      woken = true;
    } else {
      tokens_.push_back(token);
    }
  }
  return tokens_;
}

bool EpollSet::has_come() const {
  pollfd watched{.fd = epoll_.get(), .events = POLLIN, .revents = 0};
  return ::poll(&watched, 1, 0) > 0;
}

void EpollSet::wake() {
  const std::uint64_t one = 1;
  // It fails only after 2^64 - 2 wakes.
  if (::write(wake_.get(), &one, sizeof one) < 0) return;
}

}  // namespace stretto

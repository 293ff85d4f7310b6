// SPDX-License-Identifier: Apache-2.0
// Waits for many descriptors with epoll, and calls back for those that are ready.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>

#include "common/clock.h"
#include "common/descriptor.h"
#include "common/threads/loop_owner.h"
#include "stretto/types.h"

namespace stretto::launch {

/// Thread: loop. Owns none of the descriptors that it watches.
class Poller {
 public:
  using Callback = std::function<void()>;

  Poller();

  bool is_open() const { return epoll_.is_open(); }
  /// Calls `callback` whenever one of `events` (EPOLLIN, EPOLLOUT) is ready; false, with errno, if
  /// the kernel refuses. Watch a descriptor only once, and unwatch it before it closes.
  bool watch(int descriptor, std::uint32_t events, Callback callback);
  /// Accepts a descriptor that is not watched.
  void unwatch(int descriptor);
  /// Waits for an event, at most `patience` if given, and calls back for all that are ready.
  /// Callbacks may watch and unwatch.
  void turn(std::optional<Duration> patience);

 private:
  struct Watched {
    std::uint32_t generation;  // Distinguishes current events from those of a closed descriptor.
    std::shared_ptr<const Callback> callback;
  };

  LoopOwner owner_;
  Descriptor epoll_;
  std::map<int, Watched> watched_;
  std::uint32_t generations_ = 0;
};

}  // namespace stretto::launch

// SPDX-License-Identifier: Apache-2.0
// Waits for many descriptors at once, and calls back for those that are ready: epoll.
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
  /// From now on `callback` is called when one of `events` (EPOLLIN, EPOLLOUT) is there; false if
  /// the kernel refuses, with errno. A descriptor is watched once, and unwatched before it closes.
  bool watch(int descriptor, std::uint32_t events, Callback callback);
  /// Fine for a descriptor that is not watched.
  void unwatch(int descriptor);
  /// Waits until something is ready, at most `patience` if there is one, and calls back for all
  /// that is. Callbacks may watch and unwatch.
  void turn(std::optional<Duration> patience);

 private:
  struct Watched {
    std::uint32_t generation;  // Tells an event of now from one of a descriptor closed since.
    std::shared_ptr<const Callback> callback;
  };

  LoopOwner owner_;
  Descriptor epoll_;
  std::map<int, Watched> watched_;
  std::uint32_t generations_ = 0;
};

}  // namespace stretto::launch

// SPDX-License-Identifier: Apache-2.0
// EpollSet: waits until one of many descriptors is readable, or writable where that is wanted, or
// until somebody calls wake(). By epoll, so that only what has something to say costs anything.
#pragma once

#include <cstdint>
#include <vector>

#include "common/descriptor.h"
#include "stretto/status.h"
#include "stretto/types.h"

namespace stretto {

/// Thread: loop, but for wake().
class EpollSet {
 public:
  Status open();
  /// Level-triggered. `token` says later which descriptor it was; kWakeToken is taken.
  Status add(int descriptor, std::uint64_t token);
  /// Whether one that was added is also told of when it is writable.
  void want_room(int descriptor, std::uint64_t token, bool wanted);
  /// One that was added, and is still open.
  void remove(int descriptor);
  /// The tokens of some descriptors that are readable, or writable where that is wanted; none if
  /// `wait` has passed. Valid until the next call. `woken` becomes true if wake() was called.
  const std::vector<std::uint64_t>& wait(Duration wait, bool& woken);
  /// True if wait() would find something, which it still does afterwards.
  bool has_come() const;
  /// Makes a wait, or the next one, return. Thread: any.
  void wake();
  /// Readable when wait() would find something.
  int descriptor() const { return epoll_.get(); }

  static constexpr std::uint64_t kWakeToken = ~std::uint64_t{0};

 private:
  Descriptor epoll_;
  Descriptor wake_;
  std::vector<std::uint64_t> tokens_;
};

}  // namespace stretto

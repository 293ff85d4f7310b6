// SPDX-License-Identifier: Apache-2.0
// EpollSet: waits until one of many descriptors is readable, or writable if requested, or until a
// thread calls wake(). With epoll, idle descriptors cost nothing.
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
  /// Level-triggered. wait() returns `token` for the descriptor; kWakeToken is reserved.
  Status add(int descriptor, std::uint64_t token);
  /// Whether an added descriptor is also reported when it is writable.
  void want_room(int descriptor, std::uint64_t token, bool wanted);
  /// The descriptor must have been added and still be open.
  void remove(int descriptor);
  /// The tokens of some descriptors that are readable, or writable if requested; empty if `wait`
  /// has passed. Valid until the next call. Sets `woken` if wake() was called.
  const std::vector<std::uint64_t>& wait(Duration wait, bool& woken);
  /// True if wait() would return something now; it still does afterwards.
  bool has_come() const;
  /// Makes the current wait, or the next one, return. Thread: any.
  void wake();
  /// Readable when wait() would return something.
  int descriptor() const { return epoll_.get(); }

  static constexpr std::uint64_t kWakeToken = ~std::uint64_t{0};

 private:
  Descriptor epoll_;
  Descriptor wake_;
  std::vector<std::uint64_t> tokens_;
};

}  // namespace stretto

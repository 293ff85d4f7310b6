// SPDX-License-Identifier: Apache-2.0
// Watch: epoll over the descriptors of others, and an eventfd to be woken by.
#pragma once

#include <cstdint>
#include <vector>

#include "stretto/types.h"
#include "van/shm/memory.h"

namespace stretto::shm {

/// Thread: loop, but for wake().
class Watch {
 public:
  Status open();
  /// `token` says later which descriptor it was; not zero.
  Status add(int descriptor, std::uint64_t token);
  void remove(int descriptor);
  /// The tokens of some readable descriptors; none if `wait` has passed. Valid until the next call.
  /// `woken` becomes true if wake() was called.
  const std::vector<std::uint64_t>& wait(Duration wait, bool& woken);
  /// Makes a wait, or the next one, return. Thread: any.
  void wake();
  /// Readable when wait() would find something.
  int descriptor() const { return epoll_.get(); }

 private:
  Descriptor epoll_;
  Descriptor wake_;
  std::vector<std::uint64_t> tokens_;
};

}  // namespace stretto::shm

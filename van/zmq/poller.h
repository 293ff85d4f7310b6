// SPDX-License-Identifier: Apache-2.0
// Poller: waits until one of many descriptors is readable, or somebody calls wake().
//
// Why not zmq_poll: it asks every socket for its descriptor and its events, at every call. Here
// only what has something to say costs anything.
#pragma once

#include <cstdint>
#include <vector>

#include "stretto/status.h"
#include "stretto/types.h"

namespace stretto::zmq {

/// Thread: loop, but for wake().
class Poller {
 public:
  Poller() = default;
  Poller(const Poller&) = delete;
  Poller& operator=(const Poller&) = delete;
  ~Poller();

  Status open();
  /// Watches a descriptor; `token` says which it was. kWakeToken is taken.
  Status add(int descriptor, std::uint64_t token);
  void remove(int descriptor);
  /// The tokens of some readable descriptors; empty if `wait` has passed. Valid until the next
  /// call. Sets `woken` if wake() was called.
  const std::vector<std::uint64_t>& wait(Duration wait, bool& woken);
  /// Readable when one of them is, or after wake().
  int descriptor() const { return epoll_; }
  /// Thread: any.
  void wake();

  static constexpr std::uint64_t kWakeToken = ~std::uint64_t{0};

 private:
  int epoll_ = -1;
  int wake_ = -1;
  std::vector<std::uint64_t> tokens_;
};

}  // namespace stretto::zmq

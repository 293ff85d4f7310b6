// SPDX-License-Identifier: Apache-2.0
// Resolver: looks up the address of a host's name, on a thread of its own, since that may take any
// time and the loop must go on.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "common/socket_address.h"
#include "stretto/status.h"

namespace stretto {

/// Thread: loop.
class Resolver {
 public:
  /// `done` is called, on the lookup's thread, when the outcome is there. Resource if there is no
  /// thread.
  static Result<std::unique_ptr<Resolver>> begin(const HostPort& to, std::function<void()> done);
  /// Waits for the resolver.
  ~Resolver() = default;
  Resolver(const Resolver&) = delete;
  Resolver& operator=(const Resolver&) = delete;

  bool done() const { return done_.load(std::memory_order_acquire); }
  /// Once it is done.
  const Result<SocketAddress>& outcome() const;

 private:
  Resolver(const HostPort& to, std::function<void()> done);

  Result<SocketAddress> outcome_;
  std::atomic<bool> done_{false};
  std::jthread thread_;  // Last: it uses the others.
};

}  // namespace stretto

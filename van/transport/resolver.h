// SPDX-License-Identifier: Apache-2.0
// Resolver: looks up the address of a host's name, on a thread of its own, since that may take any
// time and the loop must go on.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "common/network/socket_address.h"
#include "stretto/status.h"
#include "van/transport/transport.h"

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

/// The names of far ends that are looked up, by link. One whose link has been closed goes on: its
/// thread cannot be stopped. Thread: loop.
class NameLookups {
 public:
  /// As Resolver::begin().
  Status begin(LinkId link, const HostPort& to, std::function<void()> done);
  /// Those that are done since, each once.
  std::vector<std::pair<LinkId, Result<SocketAddress>>> take_done();

 private:
  std::vector<std::pair<LinkId, std::unique_ptr<Resolver>>> names_;
};

}  // namespace stretto

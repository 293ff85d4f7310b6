// SPDX-License-Identifier: Apache-2.0
// Resolver: resolves a host name on its own thread, since that may take any time and the loop must
// not block.
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
  /// Calls `done` on the lookup's thread when the outcome is available. kResource if no thread can
  /// be started.
  static Result<std::unique_ptr<Resolver>> begin(const HostPort& to, std::function<void()> done);
  /// Waits for the lookup.
  ~Resolver() = default;
  Resolver(const Resolver&) = delete;
  Resolver& operator=(const Resolver&) = delete;

  bool done() const { return done_.load(std::memory_order_acquire); }
  /// Valid once done().
  const Result<SocketAddress>& outcome() const;

 private:
  Resolver(const HostPort& to, std::function<void()> done);

  Result<SocketAddress> outcome_;
  std::atomic<bool> done_{false};
  std::jthread thread_;  // Last: it uses the others.
};

/// The host names being resolved, by link. A lookup whose link has been closed continues: its
/// thread cannot be stopped. Thread: loop.
class NameLookups {
 public:
  /// As Resolver::begin().
  Status begin(LinkId link, const HostPort& to, std::function<void()> done);
  /// Lookups finished since the last call, each once.
  std::vector<std::pair<LinkId, Result<SocketAddress>>> take_done();

 private:
  std::vector<std::pair<LinkId, std::unique_ptr<Resolver>>> names_;
};

}  // namespace stretto

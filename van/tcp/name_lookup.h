// SPDX-License-Identifier: Apache-2.0
// NameLookup: the address of a host's name. The resolver may take as long as it likes, so it is
// asked on a thread of its own; a loop goes on meanwhile.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "common/socket_address.h"
#include "stretto/status.h"

namespace stretto::tcp {

/// Thread: loop.
class NameLookup {
 public:
  /// `done` is called, on the lookup's thread, when the outcome is there. Resource if there is no
  /// thread.
  static Result<std::unique_ptr<NameLookup>> begin(const HostPort& to, std::function<void()> done);
  /// Waits for the resolver.
  ~NameLookup() = default;
  NameLookup(const NameLookup&) = delete;
  NameLookup& operator=(const NameLookup&) = delete;

  bool done() const { return done_.load(std::memory_order_acquire); }
  /// Once it is done.
  const Result<SocketAddress>& outcome() const;

 private:
  NameLookup(const HostPort& to, std::function<void()> done);

  Result<SocketAddress> outcome_;
  std::atomic<bool> done_{false};
  std::jthread thread_;  // Last: it uses the others.
};

}  // namespace stretto::tcp

// SPDX-License-Identifier: Apache-2.0
// Yielding: what is less urgent than another process's data waits, but for a little now and then,
// so that nothing waits for ever.
#pragma once

#include "van/host/share.h"

namespace stretto::host {

/// Thread: loop. Pure.
class Yielding {
 public:
  void set(const HostShare& share);
  /// True while data of that priority has to wait.
  bool holds(std::int32_t priority, Time now);
  /// So many bytes have left of what holds() was last asked about.
  void on_sent(std::uint64_t bytes, Time now);

 private:
  // Between a slice of the rest and the next.
  Duration gap() const;

  std::optional<std::int32_t> above_;
  double rest_rate_ = 0;
  bool rest_ = false;  // What is about to go is of the rest.
  std::uint64_t rest_sent_bytes_ = 0;
  Time rest_sent_at_ = {};
};

}  // namespace stretto::host

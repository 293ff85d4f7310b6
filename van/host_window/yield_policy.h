// SPDX-License-Identifier: Apache-2.0
// YieldPolicy: what is less urgent than another process's data waits, but for a little now and
// then, so that nothing waits for ever.
#pragma once

#include "van/host_window/window_share.h"

namespace stretto::host {

/// Thread: loop. Pure.
class YieldPolicy {
 public:
  void set(const WindowShare& share);
  /// True while data of that priority has to wait.
  bool holds(std::int32_t priority, Time now);
  /// So many bytes have left of what holds() was last asked about.
  void on_sent(std::uint64_t bytes, Time now);

 private:
  std::optional<std::int32_t> above_;
  double rest_rate_ = 0;
  bool rest_ = false;      // What is about to go is of the rest.
  double left_bytes_ = 0;  // That the rest may send now; below 0: it has sent ahead.
  Time counted_at_ = {};
  Time sent_at_ = {};  // By the rest.
};

}  // namespace stretto::host

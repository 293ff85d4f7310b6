// SPDX-License-Identifier: Apache-2.0
// YieldPolicy: data less urgent than another process's data waits, but a little leaves
// periodically, so that it does not starve.
#pragma once

#include "van/host_window/window_share.h"

namespace stretto::host {

/// Thread: loop. Pure.
class YieldPolicy {
 public:
  void set(const WindowShare& share);
  /// True while data of that priority must wait.
  bool holds(std::int32_t priority, Time now);
  /// `bytes` of the data of the last holds() have left.
  void on_sent(std::uint64_t bytes, Time now);

 private:
  std::optional<std::int32_t> above_;
  double rest_rate_ = 0;
  bool rest_ = false;      // The data of the last holds() yields.
  double left_bytes_ = 0;  // Allowance of yielding data; below 0: overdrawn.
  Time counted_at_ = {};
  Time sent_at_ = {};  // Yielding data.
};

}  // namespace stretto::host

// SPDX-License-Identifier: Apache-2.0
// Parker: lets one thread sleep until another thread wakes it or a deadline passes.
#pragma once

#include <atomic>
#include <cstdint>

#include "stretto/types.h"

namespace stretto {

/// Stores at most one wake-up: park_until() returns at once after an unpark(). Waking a thread that
/// does not sleep costs no system call.
class Parker {
 public:
  /// Sleeps; may wake spuriously. Thread: the owner's.
  void park_until(Time deadline);
  /// Thread: any, as long as this exists.
  void unpark();

 private:
  static constexpr std::uint32_t kAwake = 0;
  static constexpr std::uint32_t kWoken = 1;
  static constexpr std::uint32_t kAsleep = 2;

  std::atomic<std::uint32_t> state_{kAwake};
};

}  // namespace stretto

// SPDX-License-Identifier: Apache-2.0
// Parker: where one thread sleeps until another wakes it, or a deadline has come.
#pragma once

#include <atomic>
#include <cstdint>

#include "stretto/types.h"

namespace stretto {

/// Holds at most one wake: unpark() before park_until() makes that return at once. A wake of a
/// thread that does not sleep costs no system call.
class Parker {
 public:
  /// Sleeps; may return early for no reason. Thread: its owner's.
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

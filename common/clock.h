// SPDX-License-Identifier: Apache-2.0
// Time comes in by an interface, so that a whole cluster can run in virtual time.
#pragma once

#include "stretto/types.h"

namespace stretto {

/// Thread: any.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual Time now() const = 0;
};

/// CLOCK_MONOTONIC.
class SteadyClock final : public Clock {
 public:
  Time now() const override { return std::chrono::steady_clock::now(); }
};

}  // namespace stretto

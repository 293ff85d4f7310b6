// SPDX-License-Identifier: Apache-2.0
// LossVisits: counts of losses by kind and phase of the worker's program, and by whether another
// loss was undetected then.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "tests/sim/losses/loss_plan.h"

namespace stretto::sim {

class LossVisits {
 public:
  void note(LossKind kind, LossPhase phase, bool recovering) {
    ++counts_[index(kind, phase, recovering)];
  }
  void add(const LossVisits& other);
  std::uint64_t of(LossKind kind, LossPhase phase, bool recovering) const {
    return counts_[index(kind, phase, recovering)];
  }
  /// For display: a line for each kind.
  std::string table() const;

 private:
  static std::size_t index(LossKind kind, LossPhase phase, bool recovering) {
    return (static_cast<std::size_t>(kind) * kLossPhases + static_cast<std::size_t>(phase)) * 2 +
           (recovering ? 1 : 0);
  }
  std::array<std::uint64_t, kLossKinds * kLossPhases * 2> counts_{};
};

}  // namespace stretto::sim

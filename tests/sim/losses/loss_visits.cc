// SPDX-License-Identifier: Apache-2.0
// Counts, and their table.
#include "tests/sim/losses/loss_visits.h"

#include <fmt/format.h>

namespace stretto::sim {

void LossVisits::add(const LossVisits& other) {
  for (std::size_t i = 0; i < counts_.size(); ++i) counts_[i] += other.counts_[i];
}

std::string LossVisits::table() const {
  std::string text = fmt::format("{:8}", "");
  for (std::size_t phase = 0; phase < kLossPhases; ++phase) {
    text += fmt::format(" {:>15}", name_of(static_cast<LossPhase>(phase)));
  }
  for (std::size_t kind = 0; kind < kLossKinds; ++kind) {
    text += fmt::format("\n{:8}", name_of(static_cast<LossKind>(kind)));
    for (std::size_t phase = 0; phase < kLossPhases; ++phase) {
      const auto count = [&](bool recovering) {
        return of(static_cast<LossKind>(kind), static_cast<LossPhase>(phase), recovering);
      };
      text += fmt::format(" {:>8} {:>6}", count(false), count(true));
    }
  }
  return text;
}

}  // namespace stretto::sim

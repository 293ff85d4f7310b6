// SPDX-License-Identifier: Apache-2.0
// Typical staleness follows from Little's law if no worker waits; otherwise it is measured.
#include "worker/training/damping.h"

#include <utility>

namespace stretto {

Damping::Damping(std::shared_ptr<const RateRule> rule, std::uint32_t workers, bool rounds)
    : rule_(rule == nullptr ? std::shared_ptr<const RateRule>(relative_rate()) : std::move(rule)),
      others_(workers - 1.0),
      compensates_(!rounds && rule_->compensates()) {}

Status Damping::measure(Worker& worker, const std::string& name) {
  if (!judges()) return {};
  auto made = TypicalStaleness::open(worker, name, others_);
  if (made.ok()) measured_ = std::move(*made);
  return made.status();
}

// Prefetched values are newer than the gradient's: the versions between them count.
double Damping::staleness(const GradientAge& age) const {
  if (!age.probed) return age.known;
  const bool fetched_ahead = age.late || rule_->compensates();
  return *age.probed + (fetched_ahead ? age.known : 0);
}

double Damping::factor(double staleness, bool late) {
  const double factor = rule_->factor({.versions = staleness, .typical = typical(late)});
  if (measured_ != nullptr) measured_->note(staleness);
  return factor;
}

// Workers that never wait always have an update in flight. Each update is passed by one of every
// other worker's for each step from reading values to pushing the update made of them.
double Damping::typical(bool late) const {
  if (measured_ != nullptr) return measured_->value();
  return (late ? 2 : 1) * others_;
}

}  // namespace stretto

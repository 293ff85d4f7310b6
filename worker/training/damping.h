// SPDX-License-Identifier: Apache-2.0
// Damping: how stale the gradient of a step is, compared with what is typical in its mode, and what
// the rate rule makes of that.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "stretto/rate_rule.h"
#include "worker/training/typical_staleness.h"

namespace stretto {

/// What is known of the gradient of one step.
struct GradientAge {
  double known = 0;              ///< Staleness of the last values received.
  std::optional<double> probed;  ///< Of a probe just now, counted from those values on.
  bool late = false;             ///< Values are requested a step before they are used.
};

/// Thread: one at a time.
class Damping {
 public:
  /// Null: relative_rate(). With `rounds` all workers are equally stale: nothing is compensated.
  Damping(std::shared_ptr<const RateRule> rule, std::uint32_t workers, bool rounds);

  /// For mode bounded, where one worker cannot derive the typical staleness. All workers call it,
  /// with the name of a separate tensor; a rule that damps nothing does not need it.
  Status measure(Worker& worker, const std::string& name);

  /// An operation that uses this object's memory until it has ended.
  Ticket in_flight() const { return measured_ == nullptr ? Ticket() : measured_->in_flight(); }

  /// True if the current staleness is of use to the rule.
  bool judges() const { return rule_->name() != "constant"; }
  bool compensates() const { return compensates_; }
  const RateRule& rule() const { return *rule_; }

  /// The staleness of the values that the gradient was computed from.
  double staleness(const GradientAge& age) const;
  /// The factor for an update of that staleness.
  double factor(double staleness, bool late);

 private:
  double typical(bool late) const;

  std::shared_ptr<const RateRule> rule_;
  double others_;  // Number of other workers.
  bool compensates_;
  std::unique_ptr<TypicalStaleness> measured_;
};

}  // namespace stretto

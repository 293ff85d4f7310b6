// SPDX-License-Identifier: Apache-2.0
// Damping: how stale the gradient of a step is, next to what is usual in its mode, and what the
// rate rule makes of that.
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
  double known = 0;              ///< Staleness of the values that came last.
  std::optional<double> probed;  ///< That of a probe just now, counted from those values on.
  bool late = false;             ///< Values are asked for a step before they are used.
};

/// Thread: one at a time.
class Damping {
 public:
  /// Null: relative_rate(). With `rounds` nobody is staler than others: nothing is compensated.
  Damping(std::shared_ptr<const RateRule> rule, std::uint32_t workers, bool rounds);

  /// For mode bounded, where what is usual follows from nothing that one worker sees. All workers
  /// call it, with the name of a tensor of its own; a rule that damps nothing needs it not.
  Status measure(Worker& worker, const std::string& name);

  /// An operation that uses this object's memory until it has ended.
  Ticket in_flight() const { return measured_ == nullptr ? Ticket() : measured_->in_flight(); }

  /// Whether it is of use to know the staleness as it is just now.
  bool judges() const { return rule_->name() != "constant"; }
  bool compensates() const { return compensates_; }
  const RateRule& rule() const { return *rule_; }

  /// Of the values that the gradient was computed from.
  double staleness(const GradientAge& age) const;
  /// What an update of that staleness is multiplied by.
  double factor(double staleness, bool late);

 private:
  double typical(bool late) const;

  std::shared_ptr<const RateRule> rule_;
  double others_;  // Workers but this one.
  bool compensates_;
  std::unique_ptr<TypicalStaleness> measured_;
};

}  // namespace stretto

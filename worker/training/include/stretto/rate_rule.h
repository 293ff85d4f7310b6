// SPDX-License-Identifier: Apache-2.0
// Rate rules: how much of the learning rate a stale gradient gets. A gradient is stale if others
// have updated the parameters since the values that it was computed from were read.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "stretto/status.h"

#pragma GCC visibility push(default)
namespace stretto {

/// What is known of the gradient that is about to be pushed.
struct Staleness {
  double versions = 0;  ///< Updates of other workers since the values that it was computed from.
  /// The average of `versions` over all updates of the job, of every worker. In kAsync and
  /// kEagerAsync it is the number of other workers, times the steps between reading values and
  /// pushing their update. (In a steady state each update is passed by as many others as are in
  /// flight; that is Little's law.) In kBounded a worker that is ahead waits with none in flight,
  /// so it is less, and measured.
  double typical = 0;
};

/// Derive from it for a user-defined rule. Parameters call it in step() and compensate(), on the
/// calling thread. Thread: one at a time.
class RateRule {
 public:
  virtual ~RateRule() = default;
  /// "relative" and so on, for error texts; lasts as long as the rule.
  virtual std::string_view name() const = 0;
  /// The factor of the learning rate for this update: finite, at least 0.
  virtual double factor(const Staleness& staleness) const = 0;
  /// True if compensate() should be called before each step.
  virtual bool compensates() const { return false; }
  /// Changes the gradient at `then`, the values that it was computed from, towards that at `now`,
  /// the newest known here. All three have the same number of elements; the spans are lent for the
  /// call. The default changes nothing.
  virtual void compensate(std::span<float> gradient, std::span<const float> now,
                          std::span<const float> then) const;
};

/// 1, however stale.
std::unique_ptr<RateRule> constant_rate();
/// 1 / staleness (Zhang, Gupta, Lian, Liu: Staleness-aware Async-SGD, IJCAI 2016, arXiv
/// 1511.05950); 1 below a staleness of 1.
std::unique_ptr<RateRule> inverse_rate();
/// 1 / sqrt(staleness); 1 below a staleness of 1.
std::unique_ptr<RateRule> inverse_root_rate();
/// typical / staleness, at most 1 and at least 0.1: the usual delay costs nothing, and only workers
/// slower than the others are damped. Stretto's own rule, and its default.
std::unique_ptr<RateRule> relative_rate();
/// 1, and the gradient g becomes g + lambda * g * g * (now - then), element by element (Zheng et
/// al.: Asynchronous SGD with Delay Compensation, ICML 2017, arXiv 1609.08326).
std::unique_ptr<RateRule> compensated_rate(double lambda = 0.04);

/// "constant", "inverse", "inverse_root", "relative" or "compensated", with hyphens or underscores;
/// others are kInvalidArgument.
Result<std::unique_ptr<RateRule>> rate_rule_named(std::string_view name);

}  // namespace stretto
#pragma GCC visibility pop

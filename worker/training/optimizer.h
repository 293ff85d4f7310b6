// SPDX-License-Identifier: Apache-2.0
// Optimizer: makes of a gradient what is to be added to the parameters, and remembers what its rule
// needs. The arithmetic is ops/update's, so a server that applied the gradient would do the same.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "ops/update.h"
#include "stretto/status.h"
#include "stretto/tensor.h"

namespace stretto {

/// Thread: one at a time.
class Optimizer {
 public:
  /// kSum takes what it is given for an update already. Refused: kMean, and numbers that make no
  /// sense.
  static Result<Optimizer> make(const RuleOptions& options, std::size_t elements);

  /// `update` = what `gradient` at `values` adds to the values, times `factor`. All three have the
  /// number of elements that it was made for; they do not overlap.
  void make_update(std::span<const float> gradient, std::span<const float> values, double factor,
                   std::span<float> update);

  void set_rate(double rate) { rate_ = rate; }

  /// What its rule remembers, for another one that is made alike; empty without memory.
  std::vector<std::byte> save() const;
  /// kMismatch if it is of another rule or size.
  Status load(std::span<const std::byte> saved);

 private:
  Optimizer(const RuleOptions& options, std::unique_ptr<ops::UpdateRule> rule)
      : rate_(options.rate), decay_(options.weight_decay), rule_(std::move(rule)) {}

  double rate_;
  double decay_;
  std::unique_ptr<ops::UpdateRule> rule_;  // With a rate of 1, on parameters of 0; none: kSum.
  std::vector<float> decayed_;
};

}  // namespace stretto

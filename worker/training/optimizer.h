// SPDX-License-Identifier: Apache-2.0
// Optimizer: makes an update of the parameters from a gradient, and keeps its rule's state. The
// arithmetic is ops/update's, so a server that applied the gradient would do the same.
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
  /// kSum takes its input as an update already. Refused: kMean, and invalid numbers.
  static Result<Optimizer> make(const RuleOptions& options, std::size_t elements);

  /// `update` = what `gradient` at `values` adds to the values, times `factor`. All three have the
  /// number of elements that it was made for; they do not overlap.
  void make_update(std::span<const float> gradient, std::span<const float> values, double factor,
                   std::span<float> update);

  void set_rate(double rate) { rate_ = rate; }

  /// Its rule's state, for another optimizer made with the same options; empty without state.
  std::vector<std::byte> save() const;
  /// kMismatch if the state is of another rule or size.
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

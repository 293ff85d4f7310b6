// SPDX-License-Identifier: Apache-2.0
// Update rules: how a share, or a round's sum, changes parameters that live at the server.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "stretto/status.h"
#include "stretto/tensor.h"
#include "stretto/types.h"

namespace stretto::ops {

/// The rule for one part, with whatever it remembers of it (velocity, moments, step count).
/// Thread: loop.
class UpdateRule {
 public:
  virtual ~UpdateRule() = default;
  /// True if updates commute and add (eager pull needs that): w += f(g), f without memory of w.
  virtual bool additive() const = 0;
  /// Changes `parameters` in place by `gradient * scale`. Both hold the elements that the rule was
  /// made for; any alignment; they do not overlap.
  virtual void apply(std::span<std::byte> parameters, std::span<const std::byte> gradient,
                     double scale) = 0;
  /// Forgets velocity, moments and step count: called when the parameters are set anew.
  virtual void reset() = 0;
};

/// The rule that `options` names, for a part of `elements`. Refused with the reason: numbers that
/// make no sense (a rate that is not finite, momentum outside [0, 1), ...), and kSgd and above for
/// integer types. kSum gives w += g * scale for scale 1 in any dtype.
Result<std::unique_ptr<UpdateRule>> make_update_rule(const RuleOptions& options, Dtype dtype,
                                                     std::size_t elements);

}  // namespace stretto::ops

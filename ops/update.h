// SPDX-License-Identifier: Apache-2.0
// Update rules: how a contribution, or a round's sum, changes parameters at the server. Arithmetic
// and state are f64 for f64 parameters and f32 for all other floating types. Only the parameters
// are rounded to f16 or bf16, once per update. No operation is fused, so the bits are equal
// everywhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "stretto/status.h"
#include "stretto/tensor.h"
#include "stretto/types.h"

namespace stretto::ops {

/// The rule for one part, with its state (velocity, moments, step count).
/// With w the parameters, and g = gradient * scale + weight_decay * w:
///   kSum, kMean  w += gradient * scale  (kMean: the caller's scale is 1 / workers)
///   kSgd         w -= rate * g  (Robbins and Monro, Ann. Math. Statist. 22, 1951)
///   kMomentum    v = momentum * v + g, from v = 0;  w -= rate * v
///                (Polyak, USSR Comput. Math. and Math. Phys. 4, 1964)
///   `nesterov`   the same v;  w -= rate * (g + momentum * v)  (Nesterov, Soviet Math. Dokl. 27,
///                1983, in the simplified form of Bengio et al., ICASSP 2013, arXiv:1212.0901)
///   kAdam        m = beta1 * m + (1 - beta1) * g;  v = beta2 * v + (1 - beta2) * g^2;  at step t
///                w -= rate * m / (1 - beta1^t) / (sqrt(v / (1 - beta2^t)) + epsilon)
///                (Kingma and Ba, ICLR 2015, algorithm 1)
///   kAdagrad     s = s + g^2;  w -= rate * g / (sqrt(s) + epsilon)  (Duchi et al., JMLR 12, 2011,
///                the diagonal form of figure 1)
/// Thread: loop.
class UpdateRule {
 public:
  virtual ~UpdateRule() = default;
  /// True if updates commute and add, as eager pull needs: w += f(g), with f independent of w.
  /// These are kSum, kMean, and kSgd without weight decay.
  virtual bool additive() const = 0;
  /// Changes `parameters` in place by `gradient * scale`. Both contain the rule's elements, each in
  /// its own type; any alignment; they do not overlap. Integers: scale 1 only.
  virtual void apply(std::span<std::byte> parameters, std::span<const std::byte> gradient,
                     double scale) = 0;
  /// Resets velocity, moments and step count: called when the parameters are set again.
  virtual void reset() = 0;
  /// The state between updates, as pieces in a fixed order. A caller can save it, and restore it
  /// into a rule with the same options, types and elements (the rate may differ). Any bytes are
  /// valid. Empty for a stateless rule.
  virtual std::vector<std::span<std::byte>> memory() = 0;
};

/// The rule that `options` names, for a part of `elements`. Errors with the cause: kInvalidArgument
/// for invalid numbers that the rule uses (a rate that is not finite, momentum outside [0, 1),
/// ...), and for unknown Rule or Dtype numbers. kUnsupported for optimizers on integer types, and
/// for kMin, kMax and kProduct, which change no parameters. kResource if there is too little
/// memory. Allocates one array of state for kMomentum and kAdagrad, two for kAdam.
Result<std::unique_ptr<UpdateRule>> make_update_rule(const RuleOptions& options, Dtype dtype,
                                                     std::size_t elements);
/// As above for gradients of another type than the parameters': f32, for parameters of f16 or bf16.
Result<std::unique_ptr<UpdateRule>> make_update_rule(const RuleOptions& options, Dtype dtype,
                                                     Dtype gradients, std::size_t elements);

/// The size of such a rule's memory(), without creating it; 0 for an unknown rule.
std::uint64_t remembered_bytes(const RuleOptions& options, Dtype dtype, std::size_t elements);

}  // namespace stretto::ops

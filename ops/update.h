// SPDX-License-Identifier: Apache-2.0
// Update rules: how a share, or a round's sum, changes parameters that live at the server.
// Arithmetic and memory are f64 for f64 parameters and f32 for all other floating ones; only the
// parameters are rounded to f16 or bf16, once an update. No operation is fused, so the bits are the
// same everywhere.
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

/// The rule for one part, with whatever it remembers of it (velocity, moments, step count).
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
  /// True if updates commute and add (eager pull needs that): w += f(g), f without memory of w. So
  /// are kSum, kMean, and kSgd without weight decay.
  virtual bool additive() const = 0;
  /// Changes `parameters` in place by `gradient * scale`. Both hold the elements that the rule was
  /// made for, each of its own type; any alignment; they do not overlap. Integers: scale 1 only.
  virtual void apply(std::span<std::byte> parameters, std::span<const std::byte> gradient,
                     double scale) = 0;
  /// Forgets velocity, moments and step count: called when the parameters are set anew.
  virtual void reset() = 0;
  /// What it remembers between updates, piece by piece, always the same pieces in the same order:
  /// to be kept, and to be set again in a rule made for the same options, types and elements (the
  /// rate may differ). Any bytes make sense. Empty for a rule without memory.
  virtual std::vector<std::span<std::byte>> memory() = 0;
};

/// The rule that `options` names, for a part of `elements`. Refused with the reason: numbers that
/// make no sense (a rate that is not finite, momentum outside [0, 1), ...) if the rule uses them,
/// and numbers that are neither Rule nor Dtype (kInvalidArgument); optimizers' rules for integer
/// types, and kMin, kMax and kProduct, which change no parameters (kUnsupported); more elements
/// than there is memory for (kResource). Takes one array of state for kMomentum and kAdagrad, two
/// for kAdam.
Result<std::unique_ptr<UpdateRule>> make_update_rule(const RuleOptions& options, Dtype dtype,
                                                     std::size_t elements);
/// The same for gradients of another type than the parameters': f32, for parameters of f16 or bf16.
Result<std::unique_ptr<UpdateRule>> make_update_rule(const RuleOptions& options, Dtype dtype,
                                                     Dtype gradients, std::size_t elements);

/// How many bytes such a rule's memory() has, without making it; 0 for what is no rule.
std::uint64_t remembered_bytes(const RuleOptions& options, Dtype dtype, std::size_t elements);

}  // namespace stretto::ops

// SPDX-License-Identifier: Apache-2.0
// How a tensor is exchanged: consistency, update rule, determinism. Public: installed with the
// worker API; servers and scheduler speak the same words.
#pragma once

#include <cstdint>

namespace stretto {

/// When the servers answer. Stale Synchronous Parallel is from Ho et al., NIPS 2013.
enum class Mode : std::uint8_t {
  kSync = 1,     ///< A round: the value is made of one share from every worker.
  kBounded = 2,  ///< Shares apply as they come; nobody runs more than `bound` rounds ahead (SSP).
  kAsync = 3,    ///< Shares apply as they come and are answered at once.
};

/// What a server does with a round's shares (sync), or with each share (bounded, async).
enum class Rule : std::uint8_t {
  kSum = 1,   ///< sync: the sum of the round. Otherwise: the value grows by each share.
  kMean = 2,  ///< sync only: the sum divided by the number of workers (integers: rounded down).
  kSgd = 3,   ///< w -= rate * g. This and the rest keep the parameters at the server; the shares
              ///< are gradients (in sync mode averaged over the workers), and broadcast() sets w.
  kMomentum = 4,  ///< v = momentum * v + g; w -= rate * v (Polyak; with `nesterov` Nesterov's).
  kAdam = 5,      ///< Kingma & Ba, ICLR 2015, with bias correction.
  kAdagrad = 6,   ///< Duchi et al., JMLR 2011.
};

/// An update rule and its numbers. Those that a rule does not use are ignored.
struct RuleOptions {
  friend bool operator==(const RuleOptions&, const RuleOptions&) = default;
  Rule rule = Rule::kSum;
  double rate = 0.01;
  double momentum = 0.9;
  bool nesterov = false;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0;  ///< Adds weight_decay * w to the gradient.
};

/// How a tensor is exchanged. Every worker must declare a name with the same options.
struct TensorOptions {
  friend bool operator==(const TensorOptions&, const TensorOptions&) = default;
  Mode mode = Mode::kSync;
  std::uint32_t bound = 0;  ///< kBounded: rounds that a worker may be ahead of the slowest.
  RuleOptions update = {};
  /// sync: add the shares in rank order, so that the bits of the result do not depend on timing.
  bool deterministic = false;
};

}  // namespace stretto

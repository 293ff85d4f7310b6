// SPDX-License-Identifier: Apache-2.0
// How a tensor is exchanged: consistency, update rule, determinism. Public: installed with the
// worker API; servers and scheduler speak the same words.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "stretto/codec.h"
#include "stretto/status.h"

#pragma GCC visibility push(default)
namespace stretto {

/// When the servers answer. Stale Synchronous Parallel is from Ho et al., NIPS 2013; the eager
/// modes follow the idea of PS+ (Jin et al., TPDS 2022): pulls do not wait for pushes.
enum class Mode : std::uint8_t {
  kSync = 1,     ///< A round: the value is made of one share from every worker.
  kBounded = 2,  ///< Shares apply as they come; nobody runs more than `bound` rounds ahead (SSP).
  kAsync = 3,    ///< Shares apply as they come and are answered at once.
  kEager = 4,    ///< Rounds as in kSync, but the value grows by each round, so that it can be used
                 ///< one round late while the next share is computed. Additive rules only.
  kEagerAsync = 5,  ///< As kAsync, and a pull goes its own way: it does not wait for this worker's
                    ///< pushes, and brings what is there. Additive rules only.
};

/// "sync", "bounded", "async", "eager" or "eager_async"; "unknown" for a number that is no Mode.
std::string_view name_of(Mode mode);
/// The mode of that name; others are kInvalidArgument.
Result<Mode> mode_named(std::string_view name);

/// What a server does with a round's shares (sync), or with each share (bounded, async).
enum class Rule : std::uint8_t {
  /// sync: the sum of the round. Otherwise: the value grows by each share. In the tensor's own
  /// type:
  /// each addition of f16 and bf16 is rounded, and infinite beyond their range; integers wrap.
  kSum = 1,
  /// sync: the sum divided by the number of workers. eager: the value grows by that (floating
  /// types). Other modes have no rounds. Right where the sum is beyond the type's range: f16 and
  /// bf16 are added up in f32 and rounded once, i8 and u8 in i32, i32 in i64, then rounded down.
  /// (Sums of f32 and f64 may be infinite, those of i64 wrap.)
  kMean = 2,
  kSgd = 3,  ///< w -= rate * g. This and the rest keep the parameters at the server; the shares
             ///< are gradients (in sync mode averaged as by kMean), and broadcast() sets w.
  kMomentum = 4,  ///< v = momentum * v + g; w -= rate * v (Polyak; with `nesterov` Nesterov's).
  kAdam = 5,      ///< Kingma & Ba, ICLR 2015, with bias correction.
  kAdagrad = 6,   ///< Duchi et al., JMLR 2011.
  /// sync only: the least, the greatest, the product of the round's shares, in the tensor's own
  /// type. The first two are NaN where any share is; products of integers wrap.
  kMin = 7,
  kMax = 8,
  kProduct = 9,
};

/// "sum", "mean", "sgd", "momentum", "adam", "adagrad", "min", "max" or "product"; "unknown" for a
/// number that is no Rule.
std::string_view name_of(Rule rule);
/// The rule of that name; others are kInvalidArgument.
Result<Rule> rule_named(std::string_view name);

/// True for rules of an optimizer, whose parameters are at the servers; the others make a round's
/// value of its shares alone.
constexpr bool is_optimizer(Rule rule) { return rule >= Rule::kSgd && rule <= Rule::kAdagrad; }

/// True for the rules that only kSync has.
constexpr bool is_extreme_or_product(Rule rule) {
  return rule == Rule::kMin || rule == Rule::kMax || rule == Rule::kProduct;
}

/// True for modes in which a round is made of one share from every worker.
constexpr bool has_rounds(Mode mode) { return mode == Mode::kSync || mode == Mode::kEager; }

/// True for modes in which a value is used before this worker's latest shares are in it.
constexpr bool is_eager(Mode mode) { return mode == Mode::kEager || mode == Mode::kEagerAsync; }

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
  /// sync, eager: add the shares in rank order, so that the bits of the result do not depend on
  /// timing.
  bool deterministic = false;
  /// How shares travel, and in kSync with kSum or kMean the values too; all other values travel as
  /// they are. f32 only, not in the eager modes, not with kMin, kMax and kProduct. Nothing said:
  /// what STRETTO_CODEC says for the tensor's name, or lossless.
  std::optional<CodecSpec> codec = {};
  /// Shares and values leave in larger slices, and more of them at once, on their way to other
  /// hosts: a link carries more for less work. What is more urgent overtakes them all the same, but
  /// waits up to some 5 ms of the link for what has left, instead of a fraction of one.
  bool bulk = false;
  /// The program's own shape of the elements, as "2x3", with its element type where that travels as
  /// another: printable, at most 256 bytes. Only compared and told, so that workers whose tensors
  /// have as many elements in other shapes get a kMismatch. Empty: one dimension.
  std::string shape = {};
};

/// True where a value is made of its round's shares alone; else the servers keep one, and change
/// it.
constexpr bool is_of_its_round(const TensorOptions& options) {
  return options.mode == Mode::kSync && !is_optimizer(options.update.rule);
}

}  // namespace stretto
#pragma GCC visibility pop

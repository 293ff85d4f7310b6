// SPDX-License-Identifier: Apache-2.0
// How a tensor is exchanged: consistency, update rule, determinism. Public: installed with the
// worker API; servers and scheduler speak the same words.
//
// Words: each worker *pushes* its contribution to a tensor; a *round* is made of one contribution
// of every worker; a *value* is what servers answer with, and its *version* counts the rounds or
// contributions that are in it. What does not fit together (a mean in mode kAsync, a codec for
// integers) is refused with kInvalidArgument when the tensor is declared.
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
  kSync = 1,     ///< A round: the value is made of one contribution of every worker.
  kBounded = 2,  ///< Contributions are applied as they come; nobody runs more than `bound` rounds
                 ///< ahead of the slowest (SSP).
  kAsync = 3,    ///< Contributions are applied as they come and answered at once.
  kEager = 4,    ///< Rounds as in kSync, but each is added to the value, so that it can be used one
                 ///< round late while the next contribution is computed. Additive rules only.
  kEagerAsync = 5,  ///< As kAsync, and a pull goes its own way: it does not wait for this worker's
                    ///< pushes, and brings what is there. Additive rules only.
};

/// "sync", "bounded", "async", "eager" or "eager_async"; "unknown" for a number that is no Mode.
std::string_view name_of(Mode mode);
/// The mode of that name, with hyphens or underscores; others are kInvalidArgument, with a list of
/// those that there are.
Result<Mode> mode_named(std::string_view name);

/// By which way contributions meet. Among workers each part of a tensor goes up a tree of them, is
/// added up on the way, and its value comes down: no byte passes a server. That is for kSync and
/// values of their round (kSum, kMean of f32, f64 and i64, kMin, kMax, kProduct), without a codec,
/// by push_pull() and, in jobs of fixed size, broadcast().
enum class Exchange : std::uint8_t {
  kServers = 0,  ///< Each part has a server.
  kDirect = 1,   ///< Each part has a worker, to whom all others send theirs: least latency.
  kRing = 2,     ///< Each part goes once around all workers, and its value back.
  kHalving = 3,  ///< Recursive halving, then doubling (Rabenseifner, ICCS 2004).
  kTree = 4,     ///< Binary trees, one for each worker as the root.
  /// Workers of one machine add up among themselves, and one of them meets those of the other
  /// machines, by kDirect; they take turns at that. Where m workers share a machine's link to the
  /// network, it carries 1/m of the bytes of the others.
  kHierarchical = 5,
  /// What is predicted to take least, from who is on which machine and from what their links have
  /// been seen to carry; the same at all workers, and it may change between rounds, from the fourth
  /// on (docs/COLLECTIVES.md). kServers where the tensor or the job wants servers.
  kAuto = 6,
};

/// "servers", "direct", "ring", "halving", "tree", "hierarchical" or "auto"; "unknown" for a
/// number that is no Exchange.
std::string_view name_of(Exchange exchange);
/// The exchange of that name; others are kInvalidArgument, with a list of those that there are.
Result<Exchange> exchange_named(std::string_view name);

/// What a server does with a round's contributions (sync, eager), or with each one (bounded, async,
/// eager_async). kSum, kMean, kMin, kMax and kProduct make values of contributions; the others are
/// optimizers (is_optimizer), which keep parameters at the servers. Written below: w the
/// parameters, g the gradient (a contribution, with weight_decay * w added), t the number of
/// updates so far, from 1; all element by element.
enum class Rule : std::uint8_t {
  /// sync: the sum of the round. Otherwise each contribution (eager: each round) is added to the
  /// value. In the tensor's own type: each addition of f16 and bf16 is rounded, and infinite beyond
  /// their range; integers wrap.
  kSum = 1,
  /// sync: the sum divided by the number of workers. eager: that is added to the value (floating
  /// types). Other modes have no rounds. Correct where the sum is beyond the type's range: f16 and
  /// bf16 are added up in f32 and rounded once, i8 and u8 in i32, i32 in i64, then rounded down.
  /// (Sums of f32 and f64 may be infinite, those of i64 wrap.)
  kMean = 2,
  /// w -= rate * g. Of this and the other optimizers: contributions are gradients, in sync mode
  /// averaged as by kMean; w begins as zeros, and broadcast() sets it; pull() brings it. Floating
  /// types only.
  kSgd = 3,
  /// v = momentum * v + g; w -= rate * v (Polyak 1964); with `nesterov`
  /// w -= rate * (g + momentum * v) (Bengio et al., ICASSP 2013).
  kMomentum = 4,
  /// m = beta1 * m + (1 - beta1) * g; s = beta2 * s + (1 - beta2) * g * g;
  /// w -= rate * (m / (1 - beta1^t)) / (sqrt(s / (1 - beta2^t)) + epsilon) (Kingma & Ba, ICLR
  /// 2015).
  kAdam = 5,
  /// s += g * g; w -= rate * g / (sqrt(s) + epsilon) (Duchi et al., JMLR 2011).
  kAdagrad = 6,
  /// sync only: the minimum, the maximum, the product of the round's contributions, element by
  /// element in the tensor's own type. The first two are NaN where any contribution is; products of
  /// integers wrap.
  kMin = 7,
  kMax = 8,
  kProduct = 9,
};

/// "sum", "mean", "sgd", "momentum", "adam", "adagrad", "min", "max" or "product"; "unknown" for a
/// number that is no Rule.
std::string_view name_of(Rule rule);
/// The rule of that name; others are kInvalidArgument, with a list of those that there are.
Result<Rule> rule_named(std::string_view name);

/// True for rules of an optimizer, whose parameters are at the servers; the others make values of
/// contributions.
constexpr bool is_optimizer(Rule rule) { return rule >= Rule::kSgd && rule <= Rule::kAdagrad; }

/// True for the rules that only kSync has.
constexpr bool is_extreme_or_product(Rule rule) {
  return rule == Rule::kMin || rule == Rule::kMax || rule == Rule::kProduct;
}

/// True for modes in which a round is made of one contribution of every worker.
constexpr bool has_rounds(Mode mode) { return mode == Mode::kSync || mode == Mode::kEager; }

/// True for modes in which a value is used before this worker's latest contributions are in it.
constexpr bool is_eager(Mode mode) { return mode == Mode::kEager || mode == Mode::kEagerAsync; }

/// An update rule and its numbers. Those that a rule does not use are ignored, also when workers'
/// options are compared. They are constant for the job; Parameters has schedules.
struct RuleOptions {
  friend bool operator==(const RuleOptions&, const RuleOptions&) = default;
  Rule rule = Rule::kSum;
  double rate = 0.01;  ///< The learning rate.
  double momentum = 0.9;
  bool nesterov = false;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0;  ///< Adds weight_decay * w to the gradient.
};

/// What becomes of a contribution that comes when its round has ended without it.
enum class Late : std::uint8_t {
  kNext = 0,  ///< It counts in the next round that has not ended: over rounds the sums are exact.
  kOwn = 1,   ///< Its worker adds it to its own next one. Sums and means of floating types.
  kDrop = 2,  ///< It counts nowhere.
};

/// "next", "own" or "drop"; "unknown" for a number that is no Late.
std::string_view name_of(Late late);
/// The Late of that name; others are kInvalidArgument, with a list of those that there are.
Result<Late> late_named(std::string_view name);

/// When a round among workers ends. By default when all have contributed; otherwise some may be too
/// late for it, by at most 3 rounds, after which they are waited for. A part's value is the same at
/// all workers; who is in it may differ by part. Means are over what is in: ValueInfo::contributors
/// of the part with fewest. Needs exchange direct, mode sync, a job of fixed size.
struct CloseOptions {
  friend bool operator==(const CloseOptions&, const CloseOptions&) = default;
  /// So many contributions are enough, once the others are late beside what is usual: the median
  /// and four times the median deviation of when this many have come. 0: all are waited for.
  std::uint32_t quorum = 0;
  Late late = Late::kNext;
  /// So many spare workers for each share of the data: workers whose ranks are equal modulo
  /// size / (backups + 1) contribute the same, and the first one of them counts (Tandon et al.,
  /// ICML 2017, fractional repetition). The others' are dropped, so the sum is exact. size is a
  /// multiple of backups + 1; not with a quorum.
  std::uint32_t backups = 0;

  /// Rounds end when all have contributed.
  bool waits_for_all() const { return quorum == 0 && backups == 0; }
};

/// What this worker does where elements of a contribution of its (push, push_pull) are NaN or
/// infinite. All but kPass read each contribution of a floating type once before it is sent, on the
/// caller's thread.
enum class NonFinite : std::uint8_t {
  kPass = 0,   ///< It counts like any other: scaled losses of mixed precision need that.
  kCount = 1,  ///< The same; and it is counted, and the log names tensor, worker and element.
  /// Nothing of it is sent, and its ticket ends with kNotFinite. In modes with rounds the round is
  /// made of the others' contributions, means are over these, and a target has that value. Needs
  /// exchange servers.
  kReject = 2,
  /// Nothing of it is sent. The tensor has failed: its operations end with kNotFinite at all
  /// workers.
  kRaise = 3,
};

/// "pass", "count", "reject" or "raise"; "unknown" for a number that is no NonFinite.
std::string_view name_of(NonFinite policy);
/// The NonFinite of that name; others are kInvalidArgument, with a list of those that there are.
Result<NonFinite> non_finite_named(std::string_view name);

/// How a tensor is exchanged. Every worker must declare a name with the same options: otherwise all
/// who declared it get kMismatch, with both descriptions.
struct TensorOptions {
  friend bool operator==(const TensorOptions&, const TensorOptions&) = default;
  Mode mode = Mode::kSync;
  std::uint32_t bound = 0;  ///< kBounded: rounds that a worker may be ahead of the slowest.
  RuleOptions update = {};
  /// sync, eager: add contributions in rank order, so that the bits of the result do not depend on
  /// timing. Those that come before their turn are kept, which takes memory at the servers. Among
  /// workers the order is that of the tree, which then depends on the tensor's name alone.
  bool deterministic = false;
  /// How contributions are encoded, and in kSync with kSum or kMean the values too; all other
  /// values travel as they are. f32 only, not in the eager modes, not with kMin, kMax and kProduct.
  /// None: what STRETTO_CODEC says for the tensor's name, or lossless.
  std::optional<CodecSpec> codec = {};
  /// Contributions and values are never urgent, whatever their priority: they begin no latency
  /// mode, in which all data to other hosts leaves in small slices. For tensors whose priorities
  /// order them among themselves, such as gradients by layer.
  bool bulk = false;
  /// The program's own shape of the elements, as "2x3", with its element type where that travels as
  /// another: printable ASCII, at most 256 bytes. Only compared and shown, so that workers whose
  /// tensors have as many elements in other shapes get a kMismatch. Empty: one dimension.
  std::string shape = {};
  Exchange exchange = Exchange::kServers;
  CloseOptions close = {};
  /// Of this worker alone, others may have another. None: what STRETTO_NONFINITE says, or kPass.
  std::optional<NonFinite> non_finite = {};
};

/// True where a value is made of its round's contributions alone, and nothing of it stays for the
/// next; otherwise the servers keep one value, and change it.
constexpr bool is_of_its_round(const TensorOptions& options) {
  return options.mode == Mode::kSync && !is_optimizer(options.update.rule);
}

/// True where, beside that, servers add up plain numbers: whoever has the last value and the
/// contributions since can make again all that a server had.
constexpr bool is_sum_of_round(const TensorOptions& options) {
  return is_of_its_round(options) && !options.codec;
}

}  // namespace stretto
#pragma GCC visibility pop

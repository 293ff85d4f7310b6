// SPDX-License-Identifier: Apache-2.0
// How a tensor is exchanged: consistency, update rule, determinism. Public: installed with the
// worker API; servers and scheduler use the same types.
//
// Terms: each worker *pushes* its contribution to a tensor; a *round* consists of one contribution
// of every worker; servers reply with a *value*, whose *version* counts its rounds or pushes.
// Declaring a tensor with incompatible options (a mean in mode kAsync, a codec for integers) gives
// kInvalidArgument.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "stretto/codec.h"
#include "stretto/status.h"

#pragma GCC visibility push(default)
namespace stretto {

/// When the servers reply. Stale Synchronous Parallel is from Ho et al., NIPS 2013; the eager modes
/// follow the idea of PS+ (Jin et al., TPDS 2022): pulls do not wait for pushes.
enum class Mode : std::uint8_t {
  kSync = 1,     ///< A round: the value consists of one contribution of every worker.
  kBounded = 2,  ///< Contributions are applied as they arrive; no worker runs more than `bound`
                 ///< rounds ahead of the slowest (SSP).
  kAsync = 3,    ///< Contributions are applied as they arrive and answered at once.
  kEager = 4,    ///< Rounds as in kSync, but each is added to the value, so that it can be used one
                 ///< round late while the next contribution is computed. Additive rules only.
  kEagerAsync = 5,  ///< As kAsync, but a pull does not wait for this worker's pushes: it returns
                    ///< the current value. Additive rules only.
};

/// "sync", "bounded", "async", "eager" or "eager_async"; "unknown" for a number that is no Mode.
std::string_view name_of(Mode mode);
/// The mode of that name, with hyphens or underscores; otherwise kInvalidArgument, with a list of
/// all modes.
Result<Mode> mode_named(std::string_view name);

/// The route of contributions. Among workers each part of a tensor is added up along a tree of
/// them, and its value is sent back: no byte passes a server. That needs kSync and values of their
/// round (kSum, kMean of f32, f64 and i64, kMin, kMax, kProduct), without a codec. It applies to
/// push_pull() and, in jobs of fixed size, broadcast().
enum class Exchange : std::uint8_t {
  kServers = 0,  ///< A server for each part.
  kDirect = 1,   ///< A worker for each part, to which all others send theirs: least latency.
  kRing = 2,     ///< Each part goes once around all workers, and its value back.
  kHalving = 3,  ///< Recursive halving, then doubling (Rabenseifner, ICCS 2004).
  kTree = 4,     ///< Binary trees, one for each worker as the root.
  /// Workers of one machine add up among themselves, and one of them exchanges with the other
  /// machines by kDirect; they take turns. If m workers share a machine's network link, it carries
  /// 1/m of the bytes of the other exchanges.
  kHierarchical = 5,
  /// The exchange with the least predicted time, from the workers' machines and measured
  /// bandwidths. The same at all workers; it may change between rounds, from the fourth on
  /// (docs/COLLECTIVES.md). kServers if the tensor or the job needs servers.
  kAuto = 6,
};

/// "servers", "direct", "ring", "halving", "tree", "hierarchical" or "auto"; "unknown" for a
/// number that is no Exchange.
std::string_view name_of(Exchange exchange);
/// The exchange of that name; otherwise kInvalidArgument, with a list of all exchanges.
Result<Exchange> exchange_named(std::string_view name);

/// How a server processes a round's contributions (sync, eager), or each one (bounded, async,
/// eager_async). kSum, kMean, kMin, kMax and kProduct compute values from contributions. The others
/// are optimizers (is_optimizer), whose parameters stay at the servers. Notation: w the parameters,
/// g the gradient (a contribution, with weight_decay * w added), t the number of updates so far,
/// from 1; all element by element.
enum class Rule : std::uint8_t {
  /// sync: the value is the sum of the round. eager: the round's sum is added to the value. Other
  /// modes: each contribution is added. Additions use the tensor's type: f16 and bf16 results are
  /// rounded and overflow to infinity; integers wrap.
  kSum = 1,
  /// sync: the sum divided by the number of workers. eager: this mean is added to the value
  /// (floating types). Other modes have no rounds. Correct if the sum exceeds the type's range: f16
  /// and bf16 are added up in f32 and rounded once, i8 and u8 in i32, i32 in i64, then rounded
  /// down. (Sums of f32 and f64 may be infinite, those of i64 wrap.)
  kMean = 2,
  /// w -= rate * g. For all optimizers: contributions are gradients, averaged in sync mode as by
  /// kMean; w starts as zeros, broadcast() sets it, and pull() reads it. Floating types only.
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
/// The rule of that name; otherwise kInvalidArgument, with a list of all rules.
Result<Rule> rule_named(std::string_view name);

/// True for optimizers, whose parameters are at the servers; the other rules compute values from
/// contributions.
constexpr bool is_optimizer(Rule rule) { return rule >= Rule::kSgd && rule <= Rule::kAdagrad; }

/// True for the rules that only kSync has.
constexpr bool is_extreme_or_product(Rule rule) {
  return rule == Rule::kMin || rule == Rule::kMax || rule == Rule::kProduct;
}

/// True for modes in which a round consists of one contribution of every worker.
constexpr bool has_rounds(Mode mode) { return mode == Mode::kSync || mode == Mode::kEager; }

/// True for modes whose value may lack this worker's latest contributions.
constexpr bool is_eager(Mode mode) { return mode == Mode::kEager || mode == Mode::kEagerAsync; }

/// An update rule and its parameters. Parameters that a rule does not use are ignored, also when
/// workers' options are compared. They are constant for the job; Parameters has schedules.
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

/// What happens to a contribution that arrives after its round has ended.
enum class Late : std::uint8_t {
  kNext = 0,  ///< It counts in the next open round: over rounds the sums are exact.
  kOwn = 1,   ///< Its worker adds it to its own next one. Sums and means of floating types.
  kDrop = 2,  ///< It is ignored.
};

/// "next", "own" or "drop"; "unknown" for a number that is no Late.
std::string_view name_of(Late late);
/// The Late of that name; otherwise kInvalidArgument, with a list of all values.
Result<Late> late_named(std::string_view name);

/// When a round among workers ends. By default when all have contributed; otherwise workers may
/// miss it, by at most 3 rounds, after which the round waits for them. A part's value is the same
/// at all workers; its contributors may differ by part. Means are over the contributors:
/// ValueInfo::contributors of the part with fewest. Needs exchange direct, mode sync, a fixed size.
struct CloseOptions {
  friend bool operator==(const CloseOptions&, const CloseOptions&) = default;
  /// Contributions that suffice once the others are unusually late: later than the median arrival
  /// of this many, plus four times the median deviation. 0: rounds wait for all.
  std::uint32_t quorum = 0;
  Late late = Late::kNext;
  /// Spare workers for each part of the data: workers whose ranks are equal modulo size / (backups
  /// + 1) contribute the same, and the first of them counts (Tandon et al., ICML 2017, fractional
  /// repetition). The others' are dropped, so the sum is exact. size is a multiple of backups + 1;
  /// not with a quorum.
  std::uint32_t backups = 0;

  /// Rounds end when all have contributed.
  bool waits_for_all() const { return quorum == 0 && backups == 0; }
};

/// Handling of NaN or infinite elements in a contribution of this worker (push, push_pull). All but
/// kPass read each contribution of a floating type once before it is sent, on the caller's thread.
enum class NonFinite : std::uint8_t {
  kPass = 0,   ///< It counts like any other, as scaled losses of mixed precision need.
  kCount = 1,  ///< As kPass, with a counter, and a log line naming tensor, worker and element.
  /// It is not sent, and its ticket ends with kNotFinite. In modes with rounds the round consists
  /// of the others' contributions, means are over these, and a target gets that value. Needs
  /// exchange servers.
  kReject = 2,
  /// It is not sent. The tensor has failed: its operations end with kNotFinite at all workers.
  kRaise = 3,
};

/// "pass", "count", "reject" or "raise"; "unknown" for a number that is no NonFinite.
std::string_view name_of(NonFinite policy);
/// The NonFinite of that name; otherwise kInvalidArgument, with a list of all values.
Result<NonFinite> non_finite_named(std::string_view name);

/// How a tensor is exchanged. Every worker must declare a name with the same options: otherwise all
/// that declared it get kMismatch, with both descriptions.
struct TensorOptions {
  friend bool operator==(const TensorOptions&, const TensorOptions&) = default;
  Mode mode = Mode::kSync;
  std::uint32_t bound = 0;  ///< kBounded: rounds that a worker may be ahead of the slowest.
  RuleOptions update = {};
  /// sync, eager: add contributions in rank order, so that the bits of the result do not depend on
  /// timing. The servers buffer early contributions, which takes memory. Among workers the order is
  /// that of the tree, which then depends on the tensor's name alone.
  bool deterministic = false;
  /// Encoding of contributions, and in kSync with kSum or kMean of values too; all other values are
  /// sent unencoded. f32 only, not in the eager modes, not with kMin, kMax and kProduct. None:
  /// STRETTO_CODEC's rule for the tensor's name, or lossless.
  std::optional<CodecSpec> codec = {};
  /// Contributions and values are never urgent, whatever their priority: they do not start latency
  /// mode, in which all data to other hosts is sent in small slices. For tensors whose priorities
  /// only order them among themselves, such as gradients by layer.
  bool bulk = false;
  /// The program's own shape of the elements, as "2x3", with its element type if that differs from
  /// the transmitted one: printable ASCII, at most 256 bytes. Only compared and shown, so that
  /// workers whose tensors have equal sizes but other shapes get a kMismatch. Empty: one dimension.
  std::string shape = {};
  Exchange exchange = Exchange::kServers;
  CloseOptions close = {};
  /// Of this worker alone, others may differ. None: STRETTO_NONFINITE's value, or kPass.
  std::optional<NonFinite> non_finite = {};
};

/// True if a value consists of its round's contributions alone, without state for the next round;
/// otherwise the servers keep one value, and change it.
constexpr bool is_of_its_round(const TensorOptions& options) {
  return options.mode == Mode::kSync && !is_optimizer(options.update.rule);
}

/// True if, in addition, servers add up plain numbers: a worker with the last value and the later
/// contributions can restore all of a server's state.
constexpr bool is_sum_of_round(const TensorOptions& options) {
  return is_of_its_round(options) && !options.codec;
}

}  // namespace stretto
#pragma GCC visibility pop

// SPDX-License-Identifier: Apache-2.0
// The oracle: every value of a plan, computed without any of the code under test.
#include <cmath>
#include <cstring>

#include "tests/sim/plan.h"

namespace stretto::sim {

std::int64_t share_of(const TensorPlan& tensor, Rank rank, std::uint64_t round, std::uint64_t i) {
  if (!has_rounds(tensor.spec.options.mode)) {
    // Each worker counts in its own digits, so a sum shows each worker's number of rounds.
    return std::int64_t{1} << (6 * rank);
  }
  return static_cast<std::int64_t>((round * 7 + rank * 31 + i * 3) % 97) - 40;
}

Base base_of(const TensorPlan& tensor, std::uint32_t workers, std::uint64_t round) {
  Base base;
  std::uint64_t version = 0;
  for (std::uint64_t n = 1; n <= round; ++n) {
    const Step& step = tensor.steps[n - 1];
    version += step.broadcast ? 1 : workers;
    if (step.broadcast) base = {.round = n, .version = version - 1, .root = step.root};
  }
  return base;
}

namespace {

/// One element under an optimizer's rule, by the formulas of ops/update.h.
template <typename Real>
class Descent {
 public:
  explicit Descent(const RuleOptions& options) : options_(options) {}

  /// A broadcast sets the value and resets the rule's state.
  void set(double value) { *this = Descent(options_, static_cast<Real>(value)); }
  double value() const { return static_cast<double>(w_); }

  void step(double sum, double scale) {
    Real g = static_cast<Real>(sum) * static_cast<Real>(scale);
    if (options_.weight_decay != 0) g = g + static_cast<Real>(options_.weight_decay) * w_;
    const auto rate = static_cast<Real>(options_.rate);
    if (options_.rule == Rule::kSgd) w_ -= rate * g;
    if (options_.rule == Rule::kMomentum) momentum(rate, g);
    if (options_.rule == Rule::kAdam) adam(g);
    if (options_.rule == Rule::kAdagrad) {
      v_ += g * g;
      w_ -= rate * g / (std::sqrt(v_) + static_cast<Real>(options_.epsilon));
    }
  }

 private:
  Descent(const RuleOptions& options, Real value) : options_(options), w_(value) {}

  void momentum(Real rate, Real g) {
    const auto kept = static_cast<Real>(options_.momentum);
    v_ = kept * v_ + g;
    w_ -= rate * (options_.nesterov ? g + kept * v_ : v_);
  }
  void adam(Real g) {
    power1_ *= options_.beta1;
    power2_ *= options_.beta2;
    m_ = static_cast<Real>(options_.beta1) * m_ + static_cast<Real>(1 - options_.beta1) * g;
    v_ = static_cast<Real>(options_.beta2) * v_ + static_cast<Real>(1 - options_.beta2) * (g * g);
    const auto rate = static_cast<Real>(options_.rate / (1 - power1_));
    const Real root = std::sqrt(v_ / static_cast<Real>(1 - power2_));
    w_ -= rate * m_ / (root + static_cast<Real>(options_.epsilon));
  }

  RuleOptions options_;
  Real w_ = 0;
  Real m_ = 0;
  Real v_ = 0;
  double power1_ = 1;
  double power2_ = 1;
};

template <typename Real>
double descended(const TensorPlan& tensor, std::uint32_t workers, std::uint64_t round,
                 std::uint64_t i) {
  Descent<Real> element(tensor.spec.options.update);
  for (std::uint64_t n = 1; n <= round; ++n) {
    const Step& step = tensor.steps[n - 1];
    if (step.broadcast) {
      element.set(static_cast<double>(share_of(tensor, step.root, n, i)));
      continue;
    }
    std::int64_t sum = 0;
    for (Rank rank = 0; rank < workers; ++rank) {
      if (tensor.takes_part(rank, n)) sum += share_of(tensor, rank, n, i);
    }
    element.step(static_cast<double>(sum), 1.0 / workers);
  }
  return element.value();
}

}  // namespace

double value_after(const TensorPlan& tensor, std::uint32_t workers, std::uint64_t round,
                   std::uint64_t i) {
  const RuleOptions& update = tensor.spec.options.update;
  if (is_optimizer(update.rule)) {
    return tensor.spec.dtype == Dtype::kF32 ? descended<float>(tensor, workers, round, i)
                                            : descended<double>(tensor, workers, round, i);
  }
  const bool grows = tensor.spec.options.mode == Mode::kEager;
  double value = 0;
  for (std::uint64_t n = 1; n <= round; ++n) {
    const Step& step = tensor.steps[n - 1];
    if (step.broadcast) {
      value = static_cast<double>(share_of(tensor, step.root, n, i));
      continue;
    }
    double sum = 0;
    double least = HUGE_VAL;
    double most = -HUGE_VAL;
    double product = 1;
    for (Rank rank = 0; rank < workers; ++rank) {
      if (!tensor.takes_part(rank, n)) continue;
      const auto share = static_cast<double>(share_of(tensor, rank, n, i));
      sum += share;
      least = std::min(least, share);
      most = std::max(most, share);
      product *= share;
    }
    if (update.rule == Rule::kMin) value = least;
    if (update.rule == Rule::kMax) value = most;
    if (update.rule == Rule::kProduct) value = product;
    if (update.rule == Rule::kSum) value = sum + (grows ? value : 0);
    if (update.rule == Rule::kMean) value = sum / workers + (grows ? value : 0);
  }
  const bool whole = tensor.spec.dtype == Dtype::kI32 || tensor.spec.dtype == Dtype::kI64;
  if (whole) value = std::floor(value);
  return tensor.spec.dtype == Dtype::kF32 ? static_cast<double>(static_cast<float>(value)) : value;
}

double counted_up(const TensorPlan& tensor, std::uint32_t workers, std::uint64_t round,
                  double value) {
  if (tensor.spec.options.update.rule != Rule::kSgd) return value;
  const Base base = base_of(tensor, workers, round);
  if (base.round == 0) return -value;
  return 2 * static_cast<double>(share_of(tensor, base.root, base.round, 0)) - value;
}

namespace {

template <typename T>
void store_as(std::byte* memory, std::uint64_t i, double value) {
  const T element = static_cast<T>(value);
  std::memcpy(memory + i * sizeof(T), &element, sizeof(T));
}

template <typename T>
double load_as(const std::byte* memory, std::uint64_t i) {
  T element;
  std::memcpy(&element, memory + i * sizeof(T), sizeof(T));
  return static_cast<double>(element);
}

}  // namespace

void store(Dtype dtype, std::byte* memory, std::uint64_t i, double value) {
  if (dtype == Dtype::kF32) store_as<float>(memory, i, value);
  if (dtype == Dtype::kF64) store_as<double>(memory, i, value);
  if (dtype == Dtype::kI32) store_as<std::int32_t>(memory, i, value);
  if (dtype == Dtype::kI64) store_as<std::int64_t>(memory, i, value);
}

double load(Dtype dtype, const std::byte* memory, std::uint64_t i) {
  if (dtype == Dtype::kF32) return load_as<float>(memory, i);
  if (dtype == Dtype::kF64) return load_as<double>(memory, i);
  if (dtype == Dtype::kI32) return load_as<std::int32_t>(memory, i);
  return load_as<std::int64_t>(memory, i);
}

}  // namespace stretto::sim

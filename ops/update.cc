// SPDX-License-Identifier: Apache-2.0
// Update rules: chooses and checks a rule, and does the common work: reads elements, scales and
// decays the gradient, and writes elements. step.h has the differences.
#include "ops/update.h"

#include <fmt/core.h>

#include <array>
#include <cstdint>
#include <limits>
#include <new>
#include <string_view>

#include "common/check.h"
#include "ops/convert.h"
#include "ops/step.h"
#include "ops/sum.h"

namespace stretto::ops {

namespace {

/// The largest number of elements in an array of double.
constexpr std::size_t kMaxElements = PTRDIFF_MAX / sizeof(double);

/// Element types, and the number of elements.
struct Kinds {
  Dtype parameters;
  Dtype gradients;
  std::size_t elements;

  bool fit(std::span<std::byte> bytes, std::span<const std::byte> gradient) const {
    return bytes.size() == elements * bytes_of(parameters) &&
           gradient.size() == elements * bytes_of(gradients);
  }
};

/// Calls change(first, parameters, gradient) for each piece, with both as numbers and the gradient
/// scaled.
template <typename Real, typename Change>
void update_in_pieces(const Kinds& kinds, std::span<std::byte> parameters,
                      std::span<const std::byte> gradient, double scale, Change change) {
  std::array<Real, kPieceNumbers> numbers;
  const auto factor = static_cast<Real>(scale);
  const auto update = [&](std::size_t first, std::span<Real> w) {
    const std::span<Real> g = std::span(numbers).first(w.size());
    const std::size_t element_bytes = bytes_of(kinds.gradients);
    widen(kinds.gradients, gradient.subspan(first * element_bytes, w.size() * element_bytes), g);
    for (Real& number : g) number *= factor;
    change(first, w, std::span<const Real>(g));
  };
  change_in_pieces<Real>(kinds.parameters, parameters, update);
}

/// w += gradient * scale: kSum and kMean.
class Addition final : public UpdateRule {
 public:
  explicit Addition(const Kinds& kinds) : kinds_(kinds) {}

  bool additive() const override { return true; }
  void reset() override {}
  std::vector<std::span<std::byte>> memory() override { return {}; }

  void apply(std::span<std::byte> parameters, std::span<const std::byte> gradient,
             double scale) override {
    STRETTO_CHECK(kinds_.fit(parameters, gradient));
    const Dtype dtype = kinds_.parameters;
    if (scale == 1 && dtype == kinds_.gradients) return sum_into(dtype, parameters, gradient);
    STRETTO_CHECK(is_floating(dtype));
    if (dtype == Dtype::kF64) return add_scaled<double>(parameters, gradient, scale);
    add_scaled<float>(parameters, gradient, scale);
  }

 private:
  template <typename Real>
  void add_scaled(std::span<std::byte> parameters, std::span<const std::byte> gradient,
                  double scale) const {
    const auto add = [](std::size_t, std::span<Real> w, std::span<const Real> g) {
      for (std::size_t i = 0; i < w.size(); ++i) w[i] += g[i];
    };
    update_in_pieces<Real>(kinds_, parameters, gradient, scale, add);
  }

  Kinds kinds_;
};

/// The common part of the gradient rules. `Step` is a class of step.h.
template <typename Real, template <typename> class Step>
class GradientRule final : public UpdateRule {
 public:
  GradientRule(const RuleOptions& options, const Kinds& kinds)
      : kinds_(kinds),
        weight_decay_(static_cast<Real>(options.weight_decay)),
        step_(options, kinds.elements) {}

  bool additive() const override { return Step<Real>::kMemoryless && weight_decay_ == 0; }
  void reset() override { step_.reset(); }
  std::vector<std::span<std::byte>> memory() override { return step_.memory(); }

  void apply(std::span<std::byte> parameters, std::span<const std::byte> gradient,
             double scale) override {
    STRETTO_CHECK(kinds_.fit(parameters, gradient));
    step_.begin();
    const auto change = [this](std::size_t first, std::span<Real> w, std::span<const Real> g) {
      if (weight_decay_ == 0) return step_.change(first, w, g);
      std::array<Real, kPieceNumbers> decayed;
      const Real decay = weight_decay_;
      for (std::size_t i = 0; i < w.size(); ++i) decayed[i] = g[i] + decay * w[i];
      step_.change(first, w, std::span<const Real>(decayed).first(w.size()));
    };
    update_in_pieces<Real>(kinds_, parameters, gradient, scale, change);
  }

 private:
  Kinds kinds_;
  Real weight_decay_;
  Step<Real> step_;
};

constexpr bool is_sum(Rule rule) { return rule == Rule::kSum || rule == Rule::kMean; }

/// One of the numbers of RuleOptions, and its valid range if the rule uses it.
struct Number {
  bool used;
  std::string_view name;
  double RuleOptions::* member;
  double least;
  double limit;  ///< The exclusive upper bound.
};

Status check_number(const RuleOptions& options, const Number& number) {
  const double found = options.*number.member;
  if (found >= number.least && found < number.limit) return Status();
  return Status(Code::kInvalidArgument,
                fmt::format("rule '{}' wants {} from {} to below {}, but it is {}; set "
                            "RuleOptions::{} to a number in that range, such as {}",
                            name_of(options.rule), number.name, number.least, number.limit, found,
                            number.name, RuleOptions().*number.member));
}

/// Checks the numbers that the rule uses, for arithmetic in Real.
template <typename Real>
Status check_numbers(const RuleOptions& options) {
  constexpr double kMax = std::numeric_limits<Real>::max();
  constexpr double kLeastNormal = std::numeric_limits<Real>::min();
  const bool momentum = options.rule == Rule::kMomentum;
  const bool adam = options.rule == Rule::kAdam;
  // Epsilon must not be 0: an element with only zero gradients divides 0 by it.
  const bool divides = adam || options.rule == Rule::kAdagrad;
  const Number numbers[] = {{true, "rate", &RuleOptions::rate, 0, kMax},
                            {true, "weight_decay", &RuleOptions::weight_decay, 0, kMax},
                            {momentum, "momentum", &RuleOptions::momentum, 0, 1},
                            {adam, "beta1", &RuleOptions::beta1, 0, 1},
                            {adam, "beta2", &RuleOptions::beta2, 0, 1},
                            {divides, "epsilon", &RuleOptions::epsilon, kLeastNormal, kMax}};
  for (const Number& number : numbers) {
    if (!number.used) continue;
    if (Status status = check_number(options, number); !status.ok()) return status;
  }
  return Status();
}

template <typename Real>
Result<std::unique_ptr<UpdateRule>> make_gradient_rule(const RuleOptions& options,
                                                       const Kinds& kinds) {
  if (Status status = check_numbers<Real>(options); !status.ok()) return status;
  const auto make = [&]<template <typename> class Step>() -> std::unique_ptr<UpdateRule> {
    return std::make_unique<GradientRule<Real, Step>>(options, kinds);
  };
  if (options.rule == Rule::kSgd) return make.template operator()<Sgd>();
  if (options.rule == Rule::kMomentum) return make.template operator()<Momentum>();
  if (options.rule == Rule::kAdam) return make.template operator()<Adam>();
  return make.template operator()<Adagrad>();
}

/// Refuses rules and types that no build supports.
Status check_kind(Rule rule, Dtype dtype) {
  if (bytes_of(dtype) == 0) {
    return Status(Code::kInvalidArgument,
                  fmt::format("wanted an element type, found number {}; use one that Dtype names",
                              static_cast<unsigned int>(dtype)));
  }
  if (is_extreme_or_product(rule)) {
    return Status(
        Code::kUnsupported,
        fmt::format("rule '{}' is made of a round's shares and changes no parameters; use "
                    "it in mode sync",
                    name_of(rule)));
  }
  if (!is_sum(rule) && !is_optimizer(rule)) {
    return Status(Code::kInvalidArgument,
                  fmt::format("wanted an update rule, found number {}; use one that Rule names",
                              static_cast<unsigned int>(rule)));
  }
  if (!is_sum(rule) && !is_floating(dtype)) {
    return Status(Code::kUnsupported,
                  fmt::format("rule '{}' wants floating parameters, found {}; use f32, f64, f16 or "
                              "bf16, or the rules sum and mean",
                              name_of(rule), name_of(dtype)));
  }
  return Status();
}

Status too_large(Rule rule, Dtype dtype, std::size_t elements) {
  return Status(
      Code::kResource,
      fmt::format("rule '{}' wants memory beside {} elements of {}, found too little; use "
                  "more servers, or a rule that remembers less",
                  name_of(rule), elements, name_of(dtype)));
}

}  // namespace

Result<std::unique_ptr<UpdateRule>> make_update_rule(const RuleOptions& options, Dtype dtype,
                                                     std::size_t elements) {
  return make_update_rule(options, dtype, dtype, elements);
}

Result<std::unique_ptr<UpdateRule>> make_update_rule(const RuleOptions& options, Dtype dtype,
                                                     Dtype gradients, std::size_t elements) {
  if (Status status = check_kind(options.rule, dtype); !status.ok()) return status;
  STRETTO_CHECK(gradients == dtype || (gradients == Dtype::kF32 && bytes_of(dtype) == 2));
  if (elements > kMaxElements) return too_large(options.rule, dtype, elements);
  const Kinds kinds{dtype, gradients, elements};
  try {
    if (is_sum(options.rule)) {
      return std::unique_ptr<UpdateRule>(new Addition(kinds));
    }
    if (dtype == Dtype::kF64) return make_gradient_rule<double>(options, kinds);
    return make_gradient_rule<float>(options, kinds);
  } catch (const std::bad_alloc&) {
    return too_large(options.rule, dtype, elements);
  }
}

std::uint64_t remembered_bytes(const RuleOptions& options, Dtype dtype, std::size_t elements) {
  const std::uint64_t array = elements * (dtype == Dtype::kF64 ? sizeof(double) : sizeof(float));
  if (options.rule == Rule::kMomentum || options.rule == Rule::kAdagrad) return array;
  return options.rule == Rule::kAdam ? 2 * array + 2 * sizeof(double) : 0;
}

}  // namespace stretto::ops

// SPDX-License-Identifier: Apache-2.0
// Update rules against their formulas, implemented again for single numbers in double.
#include "ops/update.h"

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <string>

#include "tests/ops/reference.h"

namespace stretto::ops {
namespace {

constexpr Dtype kFloating[] = {Dtype::kF32, Dtype::kF64, Dtype::kF16, Dtype::kBf16};
constexpr int kSteps = 20;
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

/// One parameter and its optimizer state.
struct Cell {
  double w = 0;
  double first = 0;   ///< Velocity, or mean of gradients.
  double second = 0;  ///< Sum or mean of squares.
};

/// The formulas of update.h for step t (from 1), with g as the gradient that the rule gets.
void reference_step(const RuleOptions& o, int t, double g, Cell& cell) {
  auto& [w, first, second] = cell;
  switch (o.rule) {
    case Rule::kSum:
    case Rule::kMean:
      w += g;
      break;
    case Rule::kSgd:
      w -= o.rate * g;
      break;
    case Rule::kMomentum:
      first = o.momentum * first + g;
      w -= o.rate * (o.nesterov ? g + o.momentum * first : first);
      break;
    case Rule::kAdam: {
      first = o.beta1 * first + (1 - o.beta1) * g;
      second = o.beta2 * second + (1 - o.beta2) * g * g;
      const double unbiased_first = first / (1 - std::pow(o.beta1, t));
      const double unbiased_second = second / (1 - std::pow(o.beta2, t));
      w -= o.rate * unbiased_first / (std::sqrt(unbiased_second) + o.epsilon);
      break;
    }
    case Rule::kAdagrad:
      second += g * g;
      w -= o.rate * g / (std::sqrt(second) + o.epsilon);
      break;
    case Rule::kMin:
    case Rule::kMax:
    case Rule::kProduct:
      FAIL() << "no rule of parameters";
  }
}

/// Half a unit in the last place of a number of about `magnitude`: the rounding error.
double rounding_of(Dtype dtype, double magnitude) {
  const int mantissa_bits = dtype == Dtype::kF64   ? 52
                            : dtype == Dtype::kF32 ? 23
                            : dtype == Dtype::kF16 ? 10
                                                   : 7;
  return std::ldexp(std::max(magnitude, 0x1p-14), -mantissa_bits - 1);
}

/// A rule under test and its reference.
class Pair {
 public:
  Pair(const RuleOptions& options, Dtype dtype, std::size_t elements)
      : options_(options), dtype_(dtype), random_(42), cells_(elements) {
    auto made = make_update_rule(options, dtype, elements);
    EXPECT_TRUE(made.ok()) << made.status().text();
    rule_ = std::move(*made);
    parameters_ = elements_of(dtype, random_numbers());
  }

  UpdateRule& rule() { return *rule_; }

  void step(double scale) {
    ++steps_;
    const std::vector<std::byte> gradient = elements_of(dtype_, random_numbers());
    const std::vector<std::byte> before = parameters_;
    rule_->apply(parameters_, gradient, scale);
    for (std::size_t i = 0; i < cells_.size(); ++i) {
      Cell& cell = cells_[i];
      cell.w = number_at(dtype_, before, i);  // So that roundings of w do not add up.
      const double used_decay = options_.rule > Rule::kMean ? options_.weight_decay : 0;
      const double g = number_at(dtype_, gradient, i) * scale + used_decay * cell.w;
      const double old_w = cell.w;
      reference_step(options_, steps_, g, cell);
      // One rounding to the element's type, and up to 20 in the arithmetic's, each relative to w or
      // to a summand; optimizer state accumulates the roundings of every step.
      const double size = std::max({std::fabs(old_w), std::fabs(cell.w), 1.0});
      const Dtype arithmetic = dtype_ == Dtype::kF64 ? Dtype::kF64 : Dtype::kF32;
      const double allowed =
          rounding_of(dtype_, size) + 20 * steps_ * rounding_of(arithmetic, size);
      ASSERT_NEAR(number_at(dtype_, parameters_, i), cell.w, allowed) << "step " << steps_;
    }
  }

  /// After reset() the parameters keep their values.
  void reset() {
    rule_->reset();
    steps_ = 0;
    cells_.assign(cells_.size(), Cell());
  }

 private:
  std::vector<double> random_numbers() {
    std::normal_distribution<double> normal;
    std::vector<double> numbers(cells_.size());
    for (double& number : numbers) number = normal(random_);
    return numbers;
  }

  RuleOptions options_;
  Dtype dtype_;
  std::mt19937_64 random_;
  std::vector<Cell> cells_;
  std::unique_ptr<UpdateRule> rule_;
  std::vector<std::byte> parameters_;
  int steps_ = 0;
};

struct Named {
  std::string name;
  RuleOptions options;
};

std::vector<Named> all_rules() {
  return {
      {"Sum", {.rule = Rule::kSum}},
      {"Mean", {.rule = Rule::kMean}},
      {"Sgd", {.rule = Rule::kSgd, .rate = 0.1}},
      {"SgdWithDecay", {.rule = Rule::kSgd, .rate = 0.1, .weight_decay = 0.25}},
      {"Momentum", {.rule = Rule::kMomentum, .rate = 0.1}},
      {"Nesterov", {.rule = Rule::kMomentum, .rate = 0.1, .nesterov = true}},
      {"MomentumWithDecay", {.rule = Rule::kMomentum, .rate = 0.1, .weight_decay = 0.25}},
      {"Adam", {.rule = Rule::kAdam, .rate = 0.1}},
      {"AdamWithDecay",
       {.rule = Rule::kAdam, .rate = 0.1, .beta1 = 0.5, .beta2 = 0.75, .weight_decay = 0.25}},
      {"Adagrad", {.rule = Rule::kAdagrad, .rate = 0.1}},
      {"AdagradWithDecay", {.rule = Rule::kAdagrad, .rate = 0.1, .weight_decay = 0.25}},
  };
}

class UpdateTest : public testing::TestWithParam<std::tuple<Named, Dtype>> {
 protected:
  const RuleOptions& options() const { return std::get<0>(GetParam()).options; }
  Dtype dtype() const { return std::get<1>(GetParam()); }
};

std::string name_of_case(const testing::TestParamInfo<UpdateTest::ParamType>& tested) {
  const auto& [named, dtype] = tested.param;
  return named.name + "_" + std::string(name_of(dtype));
}

INSTANTIATE_TEST_SUITE_P(Rules, UpdateTest,
                         testing::Combine(testing::ValuesIn(all_rules()),
                                          testing::ValuesIn(kFloating)),
                         name_of_case);

TEST_P(UpdateTest, FollowsItsFormula) {
  Pair pair(options(), dtype(), 50);
  for (int i = 0; i < kSteps; ++i) pair.step(1);
}

TEST_P(UpdateTest, ScalesTheGradient) {
  Pair pair(options(), dtype(), 50);
  for (int i = 0; i < kSteps; ++i) pair.step(0.25);
}

TEST_P(UpdateTest, TakesPartsOfAnySize) {
  for (const std::size_t elements : {0U, 1U, 2U, 1023U, 1024U, 1025U, 3000U}) {
    Pair pair(options(), dtype(), elements);
    pair.step(0.5);
    pair.step(0.5);
  }
}

TEST_P(UpdateTest, ForgetsWhenReset) {
  Pair pair(options(), dtype(), 50);
  for (int i = 0; i < 3; ++i) pair.step(1);
  pair.reset();
  for (int i = 0; i < 3; ++i) pair.step(1);
}

TEST_P(UpdateTest, GivesTheSameBitsAtAnyAlignment) {
  constexpr std::size_t kElements = 33;
  const std::size_t size = kElements * bytes_of(dtype());
  const std::vector<double> ones(kElements, 1);
  const auto updated = [&](std::size_t offset) {
    auto rule = make_update_rule(options(), dtype(), kElements);
    std::vector<std::byte> parameters(size + 2 * offset);
    std::vector<std::byte> gradient(size + offset);
    const auto elements = elements_of(dtype(), ones);
    std::copy(elements.begin(), elements.end(), gradient.end() - static_cast<std::ptrdiff_t>(size));
    const auto target = std::span(parameters).subspan(offset, size);
    (*rule)->apply(target, std::span(gradient).subspan(offset), 0.5);
    return std::vector<std::byte>(target.begin(), target.end());
  };
  for (std::size_t offset = 1; offset < 8; ++offset) EXPECT_EQ(updated(offset), updated(0));
}

TEST(UpdateRule, KeepsItsMemoryFinerThanItsParameters) {
  // A velocity in f16 would stop at 2048, where adding 1 rounds away.
  const RuleOptions options = {.rule = Rule::kMomentum, .rate = 0x1p-20, .momentum = 0.9998};
  auto rule = make_update_rule(options, Dtype::kF16, 1);
  ASSERT_TRUE(rule.ok());
  const auto one = elements_of(Dtype::kF16, {1});
  std::vector<std::byte> parameters;
  double velocity = 0;
  for (int i = 0; i < 5000; ++i) {
    velocity = options.momentum * velocity + 1;
    parameters = elements_of(Dtype::kF16, {0});
    (*rule)->apply(parameters, one, 1);
  }
  const double expected = -options.rate * velocity;
  EXPECT_LT(expected, -0x1p-20 * 3000);
  EXPECT_NEAR(number_at(Dtype::kF16, parameters, 0), expected, -expected * 0x1p-10);
}

TEST(UpdateRule, SumAndMeanTakeIntegersWithScaleOne) {
  for (const Rule rule : {Rule::kSum, Rule::kMean}) {
    auto made = make_update_rule({.rule = rule}, Dtype::kI8, 3);
    ASSERT_TRUE(made.ok());
    std::vector<std::byte> parameters = bytes_of_all(std::vector<std::int8_t>{1, 127, -5});
    const std::vector<std::byte> gradient = bytes_of_all(std::vector<std::int8_t>{2, 1, 5});
    (*made)->apply(parameters, gradient, 1);
    EXPECT_EQ(parameters, bytes_of_all(std::vector<std::int8_t>{3, -128, 0}));
    EXPECT_DEATH((*made)->apply(parameters, gradient, 0.5), "stretto bug");
    EXPECT_DEATH((*made)->apply(parameters, std::span(gradient).first(2), 1), "stretto bug");
  }
}

TEST(UpdateRule, IsAdditiveWhereUpdatesCommute) {
  for (const auto& [name, options] : all_rules()) {
    const bool expected = name == "Sum" || name == "Mean" || name == "Sgd";
    EXPECT_EQ((*make_update_rule(options, Dtype::kF32, 1))->additive(), expected) << name;
  }
}

TEST(UpdateRule, PassesNanAndInfOn) {
  for (const auto& [name, options] : all_rules()) {
    auto rule = make_update_rule(options, Dtype::kF32, 3);
    auto parameters = elements_of(Dtype::kF32, {1, 1, 1});
    (*rule)->apply(parameters, elements_of(Dtype::kF32, {kNan, kInf, 0}), 1);
    EXPECT_TRUE(std::isnan(number_at(Dtype::kF32, parameters, 0))) << name;
    EXPECT_FALSE(std::isfinite(number_at(Dtype::kF32, parameters, 1))) << name;
    EXPECT_TRUE(std::isfinite(number_at(Dtype::kF32, parameters, 2))) << name;
  }
}

void expect_refused(const RuleOptions& options, Dtype dtype, Code code, const std::string& word) {
  const Status status = make_update_rule(options, dtype, 4).status();
  EXPECT_EQ(status.code(), code) << status.text();
  EXPECT_NE(status.cause().find(word), std::string::npos) << status.text();
}

TEST(MakeUpdateRule, RefusesNumbersThatMakeNoSense) {
  const auto refused = [](const RuleOptions& options, const std::string& number) {
    for (const Dtype dtype : kFloating) {
      expect_refused(options, dtype, Code::kInvalidArgument, number);
    }
  };
  for (const double bad : {kNan, kInf, -kInf, -1.0}) {
    for (const Rule rule : {Rule::kSgd, Rule::kMomentum, Rule::kAdam, Rule::kAdagrad}) {
      refused({.rule = rule, .rate = bad}, "wants rate");
      refused({.rule = rule, .weight_decay = bad}, "wants weight_decay");
    }
    refused({.rule = Rule::kMomentum, .momentum = bad}, "wants momentum");
    refused({.rule = Rule::kAdam, .beta1 = bad}, "wants beta1");
    refused({.rule = Rule::kAdam, .beta2 = bad}, "wants beta2");
    refused({.rule = Rule::kAdam, .epsilon = bad}, "wants epsilon");
    refused({.rule = Rule::kAdagrad, .epsilon = bad}, "wants epsilon");
  }
  refused({.rule = Rule::kMomentum, .momentum = 1}, "wants momentum");
  refused({.rule = Rule::kAdam, .beta1 = 1}, "wants beta1");
  refused({.rule = Rule::kAdam, .beta2 = 1}, "wants beta2");
  refused({.rule = Rule::kAdagrad, .epsilon = 0}, "wants epsilon");
}

TEST(MakeUpdateRule, RefusesNumbersThatTheArithmeticCannotHold) {
  const RuleOptions tiny = {.rule = Rule::kAdam, .epsilon = 1e-60};
  expect_refused(tiny, Dtype::kF32, Code::kInvalidArgument, "wants epsilon");
  EXPECT_TRUE(make_update_rule(tiny, Dtype::kF64, 4).ok());
  const RuleOptions huge = {.rule = Rule::kSgd, .rate = 1e60};
  expect_refused(huge, Dtype::kBf16, Code::kInvalidArgument, "wants rate");
  EXPECT_TRUE(make_update_rule(huge, Dtype::kF64, 4).ok());
}

TEST(MakeUpdateRule, IgnoresNumbersThatTheRuleDoesNotUse) {
  const RuleOptions bad = {.rule = Rule::kSum,
                           .rate = kNan,
                           .momentum = kNan,
                           .beta1 = kNan,
                           .beta2 = kNan,
                           .epsilon = kNan,
                           .weight_decay = kNan};
  EXPECT_TRUE(make_update_rule(bad, Dtype::kF32, 4).ok());
  EXPECT_TRUE(make_update_rule({.rule = Rule::kSgd, .momentum = 2}, Dtype::kF32, 4).ok());
  EXPECT_TRUE(make_update_rule({.rule = Rule::kMomentum, .beta1 = 2}, Dtype::kF32, 4).ok());
}

TEST(MakeUpdateRule, RefusesGradientRulesForIntegers) {
  for (const Dtype dtype : {Dtype::kI8, Dtype::kU8, Dtype::kI32, Dtype::kI64}) {
    expect_refused({.rule = Rule::kSgd}, dtype, Code::kUnsupported, std::string(name_of(dtype)));
    expect_refused({.rule = Rule::kAdam}, dtype, Code::kUnsupported, "use f32");
  }
}

TEST(MakeUpdateRule, RejectsSynchronousOnlyRules) {
  for (const Rule rule : {Rule::kMin, Rule::kMax, Rule::kProduct}) {
    expect_refused({.rule = rule}, Dtype::kF32, Code::kUnsupported, "use it in mode sync");
  }
}

TEST(MakeUpdateRule, RejectsUnknownRuleAndDtype) {
  expect_refused({.rule = Rule{77}}, Dtype::kF32, Code::kInvalidArgument, "number 77");
  expect_refused({.rule = Rule::kSum}, Dtype{78}, Code::kInvalidArgument, "number 78");
}

TEST(MakeUpdateRule, RefusesMoreThanThereIsMemoryFor) {
  const Status status = make_update_rule({.rule = Rule::kAdam}, Dtype::kF32, SIZE_MAX).status();
  EXPECT_EQ(status.code(), Code::kResource) << status.text();
}

TEST(MakeUpdateRule, TakesAsManyElementsAsAnAddressSpaceHolds) {
  constexpr std::size_t kMost = PTRDIFF_MAX / sizeof(double);  // A sum has no state.
  EXPECT_TRUE(make_update_rule({.rule = Rule::kSum}, Dtype::kU8, kMost).ok());
  EXPECT_EQ(make_update_rule({.rule = Rule::kSum}, Dtype::kU8, kMost + 1).status().code(),
            Code::kResource);
}

TEST(MakeUpdateRule, ErrorNamesRangeValueAndRemedy) {
  const RuleOptions options = {.rule = Rule::kMomentum, .momentum = 1.5};
  EXPECT_EQ(make_update_rule(options, Dtype::kF32, 4).status().cause(),
            "rule 'momentum' wants momentum from 0 to below 1, but it is 1.5; set "
            "RuleOptions::momentum to a number in that range, such as 0.9");
}

TEST(UpdateRule, WithAnothersMemoryGoesOnAsThatOneToTheBit) {
  for (const Rule rule : {Rule::kSgd, Rule::kMomentum, Rule::kAdam, Rule::kAdagrad}) {
    for (const Dtype dtype : {Dtype::kF32, Dtype::kF64, Dtype::kBf16}) {
      constexpr std::size_t kCount = 37;
      const RuleOptions options{.rule = rule, .rate = 0.1};
      const auto first = make_update_rule(options, dtype, kCount).or_exit();
      const auto second = make_update_rule(options, dtype, kCount).or_exit();
      std::vector<std::byte> parameters(kCount * bytes_of(dtype));
      std::vector<std::byte> gradient(parameters.size());
      for (std::size_t i = bytes_of(dtype) - 1; i < gradient.size(); i += bytes_of(dtype)) {
        gradient[i] = std::byte{0x3d};  // Sign and exponent: all values are small.
      }
      for (int step = 0; step < 3; ++step) first->apply(parameters, gradient, 1);
      const auto from = first->memory();
      const auto into = second->memory();
      ASSERT_EQ(from.size(), into.size());
      for (std::size_t i = 0; i < from.size(); ++i) {
        ASSERT_EQ(from[i].size(), into[i].size());
        std::memcpy(into[i].data(), from[i].data(), from[i].size());
      }
      std::vector<std::byte> others = parameters;
      first->apply(parameters, gradient, 1);
      second->apply(others, gradient, 1);
      EXPECT_EQ(parameters, others) << static_cast<int>(rule);
    }
  }
}

}  // namespace
}  // namespace stretto::ops

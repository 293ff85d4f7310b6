// SPDX-License-Identifier: Apache-2.0
// The formulas of rate_rule.h.
#include "stretto/rate_rule.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

namespace stretto {
namespace {

class Constant : public RateRule {
 public:
  std::string_view name() const override { return "constant"; }
  double factor(const Staleness&) const override { return 1; }
};

class Inverse final : public RateRule {
 public:
  std::string_view name() const override { return "inverse"; }
  double factor(const Staleness& staleness) const override {
    return 1 / std::max(1.0, staleness.versions);
  }
};

class InverseRoot final : public RateRule {
 public:
  std::string_view name() const override { return "inverse_root"; }
  double factor(const Staleness& staleness) const override {
    return 1 / std::sqrt(std::max(1.0, staleness.versions));
  }
};

class Relative final : public RateRule {
 public:
  std::string_view name() const override { return "relative"; }
  double factor(const Staleness& staleness) const override {
    constexpr double kLeast = 0.1;
    const double typical = std::max(1.0, staleness.typical);
    return std::clamp(typical / std::max(1.0, staleness.versions), kLeast, 1.0);
  }
};

class Compensated final : public Constant {
 public:
  explicit Compensated(double lambda) : lambda_(static_cast<float>(lambda)) {}
  std::string_view name() const override { return "compensated"; }
  bool compensates() const override { return true; }
  void compensate(std::span<float> gradient, std::span<const float> now,
                  std::span<const float> then) const override {
    for (std::size_t i = 0; i < gradient.size(); ++i) {
      gradient[i] += lambda_ * gradient[i] * gradient[i] * (now[i] - then[i]);
    }
  }

 private:
  float lambda_;
};

}  // namespace

void RateRule::compensate(std::span<float>, std::span<const float>, std::span<const float>) const {}

std::unique_ptr<RateRule> constant_rate() { return std::make_unique<Constant>(); }
std::unique_ptr<RateRule> inverse_rate() { return std::make_unique<Inverse>(); }
std::unique_ptr<RateRule> inverse_root_rate() { return std::make_unique<InverseRoot>(); }
std::unique_ptr<RateRule> relative_rate() { return std::make_unique<Relative>(); }
std::unique_ptr<RateRule> compensated_rate(double lambda) {
  return std::make_unique<Compensated>(lambda);
}

Result<std::unique_ptr<RateRule>> rate_rule_named(std::string_view name) {
  std::unique_ptr<RateRule> rules[] = {constant_rate(), inverse_rate(), inverse_root_rate(),
                                       relative_rate(), compensated_rate()};
  std::string plain(name);
  std::replace(plain.begin(), plain.end(), '-', '_');
  std::string known;
  for (std::unique_ptr<RateRule>& rule : rules) {
    if (rule->name() == plain) return std::move(rule);
    known += fmt::format("{}{}", known.empty() ? "" : ", ", rule->name());
  }
  return Status(Code::kInvalidArgument,
                fmt::format("rate rule '{}' is not known; there are {}", name, known));
}

}  // namespace stretto

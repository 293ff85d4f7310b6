// SPDX-License-Identifier: Apache-2.0
// The arithmetic and the memory of each update rule for gradients, on plain arrays of Real (float
// or double); update.h has the formulas and their sources. Private to ops/: update.cc reads,
// scales, decays and writes around them. All have the same interface:
//   Step(options, elements)
//   begin()             once per update
//   change(first, w, g) once per piece of an update: w and g are the elements from `first` on
//   reset()             clears the state
//   memory()            the state, as bytes
// The options are already checked.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

#include "stretto/tensor.h"

namespace stretto::ops {

using Memory = std::vector<std::span<std::byte>>;

/// Stochastic gradient descent.
template <typename Real>
class Sgd {
 public:
  /// Whether begin() and change() leave no state for a later change().
  static constexpr bool kMemoryless = true;
  Sgd(const RuleOptions& options, std::size_t) : rate_(static_cast<Real>(options.rate)) {}

  void begin() {}
  void change(std::size_t, std::span<Real> w, std::span<const Real> g) {
    const Real rate = rate_;  // w cannot alias a local, so the compiler vectorises the loop.
    for (std::size_t i = 0; i < w.size(); ++i) w[i] -= rate * g[i];
  }
  void reset() {}
  Memory memory() { return {}; }

 private:
  Real rate_;
};

/// Polyak's or Nesterov's momentum.
template <typename Real>
class Momentum {
 public:
  static constexpr bool kMemoryless = false;
  Momentum(const RuleOptions& options, std::size_t elements)
      : rate_(static_cast<Real>(options.rate)),
        momentum_(static_cast<Real>(options.momentum)),
        nesterov_(options.nesterov),
        velocity_(elements) {}

  void begin() {}
  void change(std::size_t first, std::span<Real> w, std::span<const Real> g) {
    const std::span<Real> v = std::span(velocity_).subspan(first, w.size());
    const Real rate = rate_;
    const Real momentum = momentum_;
    for (std::size_t i = 0; i < w.size(); ++i) v[i] = momentum * v[i] + g[i];
    if (nesterov_) {
      for (std::size_t i = 0; i < w.size(); ++i) w[i] -= rate * (g[i] + momentum * v[i]);
    } else {
      for (std::size_t i = 0; i < w.size(); ++i) w[i] -= rate * v[i];
    }
  }
  void reset() { velocity_.assign(velocity_.size(), 0); }
  Memory memory() { return {std::as_writable_bytes(std::span(velocity_))}; }

 private:
  Real rate_;
  Real momentum_;
  bool nesterov_;
  std::vector<Real> velocity_;
};

/// Adam with bias correction.
template <typename Real>
class Adam {
 public:
  static constexpr bool kMemoryless = false;
  Adam(const RuleOptions& options, std::size_t elements)
      : options_(options), mean_(elements), square_(elements) {}

  /// Computes powers as products, not by pow(), whose last bits differ between libraries.
  void begin() {
    powers_[0] *= options_.beta1;
    powers_[1] *= options_.beta2;
  }
  void change(std::size_t first, std::span<Real> w, std::span<const Real> g) {
    const std::span<Real> m = std::span(mean_).subspan(first, w.size());
    const std::span<Real> v = std::span(square_).subspan(first, w.size());
    const auto beta1 = static_cast<Real>(options_.beta1);
    const auto beta2 = static_cast<Real>(options_.beta2);
    const auto rest1 = static_cast<Real>(1 - options_.beta1);
    const auto rest2 = static_cast<Real>(1 - options_.beta2);
    const auto rate = static_cast<Real>(options_.rate / (1 - powers_[0]));
    const auto correction2 = static_cast<Real>(1 - powers_[1]);
    const auto epsilon = static_cast<Real>(options_.epsilon);
    for (std::size_t i = 0; i < w.size(); ++i) {
      m[i] = beta1 * m[i] + rest1 * g[i];
      v[i] = beta2 * v[i] + rest2 * (g[i] * g[i]);
      w[i] -= rate * m[i] / (std::sqrt(v[i] / correction2) + epsilon);
    }
  }
  void reset() {
    powers_ = {1, 1};
    mean_.assign(mean_.size(), 0);
    square_.assign(square_.size(), 0);
  }
  Memory memory() {
    return {std::as_writable_bytes(std::span(powers_)), std::as_writable_bytes(std::span(mean_)),
            std::as_writable_bytes(std::span(square_))};
  }

 private:
  RuleOptions options_;
  std::array<double, 2> powers_ = {1, 1};  // The betas to the power of the number of updates.
  std::vector<Real> mean_;
  std::vector<Real> square_;
};

/// Adagrad, diagonal.
template <typename Real>
class Adagrad {
 public:
  static constexpr bool kMemoryless = false;
  Adagrad(const RuleOptions& options, std::size_t elements)
      : rate_(static_cast<Real>(options.rate)),
        epsilon_(static_cast<Real>(options.epsilon)),
        squares_(elements) {}

  void begin() {}
  void change(std::size_t first, std::span<Real> w, std::span<const Real> g) {
    const std::span<Real> s = std::span(squares_).subspan(first, w.size());
    const Real rate = rate_;
    const Real epsilon = epsilon_;
    for (std::size_t i = 0; i < w.size(); ++i) {
      s[i] += g[i] * g[i];
      w[i] -= rate * g[i] / (std::sqrt(s[i]) + epsilon);
    }
  }
  void reset() { squares_.assign(squares_.size(), 0); }
  Memory memory() { return {std::as_writable_bytes(std::span(squares_))}; }

 private:
  Real rate_;
  Real epsilon_;
  std::vector<Real> squares_;
};

}  // namespace stretto::ops

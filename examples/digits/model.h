// SPDX-License-Identifier: Apache-2.0
// The classifier: 64 pixels, one hidden layer of rectified linear units, 10 classes by softmax; and
// the gradient of its cross-entropy by backpropagation. Independent of any network.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "examples/digits/dataset.h"

namespace digits {

/// The model's tensors, from the input to the output.
enum Layer : std::size_t { kHiddenWeight, kHiddenBias, kOutputWeight, kOutputBias, kTensors };
inline constexpr std::array<std::string_view, kTensors> kTensorNames = {
    "hidden.weight", "hidden.bias", "output.weight", "output.bias"};

/// Parameters, or a gradient, which has the same shapes: weights are [from][to], row by row.
using Tensors = std::array<std::vector<float>, kTensors>;
/// Parameters owned by the caller.
using Views = std::array<std::span<const float>, kTensors>;
Views views(const Tensors& tensors);

/// Random weights, normal with variance 2 / inputs (He et al., ICCV 2015), and biases of zero.
Tensors initial_parameters(std::size_t hidden_units, std::uint64_t seed);

/// The mean cross-entropy over `batch`, which is not empty; `gradient` becomes its gradient.
double loss_and_gradient(const Views& parameters, std::span<const Sample> batch, Tensors& gradient);

/// Fraction of correctly classified samples, from 0 to 1.
double accuracy(const Views& parameters, std::span<const Sample> samples);

/// A checksum that almost surely differs if any bit of the parameters differs (FNV-1a).
std::uint64_t checksum(const Views& parameters);

}  // namespace digits

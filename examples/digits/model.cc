// SPDX-License-Identifier: Apache-2.0
// Plain loops whose innermost one runs along memory, so that the compiler vectorises them.
#include "examples/digits/model.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

namespace digits {

namespace {

/// The outputs of the layers for one sample.
struct Activations {
  std::vector<float> hidden;
  std::array<float, kClasses> logits = {};
};

/// sums += scale * row
void add_scaled(std::span<float> sums, float scale, std::span<const float> row) {
  for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += scale * row[i];
}

std::span<const float> row_of(std::span<const float> weight, std::size_t row, std::size_t columns) {
  return weight.subspan(row * columns, columns);
}

std::span<float> row_of(std::vector<float>& weight, std::size_t row, std::size_t columns) {
  return std::span(weight).subspan(row * columns, columns);
}

void forward(const Views& parameters, const Sample& sample, Activations& activations) {
  std::vector<float>& hidden = activations.hidden;
  hidden.assign(parameters[kHiddenBias].begin(), parameters[kHiddenBias].end());
  for (std::size_t i = 0; i < kPixels; ++i) {
    add_scaled(hidden, sample.pixels[i], row_of(parameters[kHiddenWeight], i, hidden.size()));
  }
  for (float& unit : hidden) unit = std::max(unit, 0.0F);

  std::array<float, kClasses>& logits = activations.logits;
  std::copy_n(parameters[kOutputBias].begin(), kClasses, logits.begin());
  for (std::size_t h = 0; h < hidden.size(); ++h) {
    add_scaled(logits, hidden[h], row_of(parameters[kOutputWeight], h, kClasses));
  }
}

/// Turns the logits into the gradient of the cross-entropy by them; returns the cross-entropy.
double softmax_cross_entropy(std::array<float, kClasses>& logits, std::size_t label) {
  const float highest = *std::max_element(logits.begin(), logits.end());
  const float wanted = logits[label];
  float sum = 0;
  for (float& logit : logits) {
    logit = std::exp(logit - highest);
    sum += logit;
  }
  for (float& logit : logits) logit /= sum;
  logits[label] -= 1;
  return std::log(static_cast<double>(sum)) - static_cast<double>(wanted - highest);
}

/// Adds one sample's gradient. `by_logits` is the loss's gradient by the logits.
void backward(const Views& parameters, const Sample& sample, std::vector<float>& hidden,
              std::span<const float> by_logits, Tensors& gradient) {
  add_scaled(gradient[kOutputBias], 1, by_logits);
  for (std::size_t h = 0; h < hidden.size(); ++h) {
    if (hidden[h] <= 0) continue;  // An inactive unit passes no gradient; it stays 0.
    add_scaled(row_of(gradient[kOutputWeight], h, kClasses), hidden[h], by_logits);
    const std::span<const float> weights = row_of(parameters[kOutputWeight], h, kClasses);
    hidden[h] = std::inner_product(weights.begin(), weights.end(), by_logits.begin(), 0.0F);
  }
  const std::span<const float> by_hidden = hidden;
  add_scaled(gradient[kHiddenBias], 1, by_hidden);
  for (std::size_t i = 0; i < kPixels; ++i) {
    add_scaled(row_of(gradient[kHiddenWeight], i, hidden.size()), sample.pixels[i], by_hidden);
  }
}

}  // namespace

Views views(const Tensors& tensors) {
  Views all;
  for (std::size_t i = 0; i < kTensors; ++i) all[i] = tensors[i];
  return all;
}

Tensors initial_parameters(std::size_t hidden_units, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto weights = [&random](std::size_t inputs, std::size_t outputs) {
    std::normal_distribution<float> normal(0.0F, std::sqrt(2.0F / static_cast<float>(inputs)));
    std::vector<float> weight(inputs * outputs);
    std::generate(weight.begin(), weight.end(), [&] { return normal(random); });
    return weight;
  };
  Tensors parameters;
  parameters[kHiddenWeight] = weights(kPixels, hidden_units);
  parameters[kHiddenBias].resize(hidden_units);
  parameters[kOutputWeight] = weights(hidden_units, kClasses);
  parameters[kOutputBias].resize(kClasses);
  return parameters;
}

double loss_and_gradient(const Views& parameters, std::span<const Sample> batch,
                         Tensors& gradient) {
  for (std::size_t i = 0; i < kTensors; ++i) gradient[i].assign(parameters[i].size(), 0);
  Activations activations;
  double loss = 0;
  for (const Sample& sample : batch) {
    forward(parameters, sample, activations);
    loss += softmax_cross_entropy(activations.logits, sample.label);
    backward(parameters, sample, activations.hidden, activations.logits, gradient);
  }
  const double share = 1 / static_cast<double>(batch.size());
  for (std::vector<float>& tensor : gradient) {
    for (float& value : tensor) value *= static_cast<float>(share);
  }
  return loss * share;
}

double accuracy(const Views& parameters, std::span<const Sample> samples) {
  Activations activations;
  const auto right = std::count_if(samples.begin(), samples.end(), [&](const Sample& sample) {
    forward(parameters, sample, activations);
    const std::span<const float> logits = activations.logits;
    const auto told = std::max_element(logits.begin(), logits.end()) - logits.begin();
    return static_cast<std::size_t>(told) == sample.label;
  });
  return static_cast<double>(right) / static_cast<double>(samples.size());
}

std::uint64_t checksum(const Views& parameters) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const std::span<const float> tensor : parameters) {
    for (const std::byte byte : std::as_bytes(tensor)) {
      hash = (hash ^ std::to_integer<std::uint64_t>(byte)) * 0x100000001b3;
    }
  }
  return hash;
}

}  // namespace digits

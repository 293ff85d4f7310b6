// SPDX-License-Identifier: Apache-2.0
// Plain loops whose innermost one runs along memory, so that the compiler vectorises them.
#include "examples/converge/network.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <utility>

namespace converge {

namespace {

/// sums += scale * row
void add_scaled(std::span<float> sums, float scale, std::span<const float> row) {
  for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += scale * row[i];
}

float product(std::span<const float> a, std::span<const float> b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0F);
}

/// Weights are [from][to], row by row; the last row are the biases.
class Dense final : public Layer {
 public:
  Dense(std::size_t inputs, std::size_t outputs) : Layer(inputs, outputs, inputs, outputs) {}

  void forward(std::span<const float> weights, std::span<const float> in,
               std::span<float> out) const override {
    std::ranges::copy(weights.last(outputs()), out.begin());
    for (std::size_t i = 0; i < inputs(); ++i) {
      if (in[i] != 0) add_scaled(out, in[i], weights.subspan(i * outputs(), outputs()));
    }
  }

  void backward(std::span<const float> weights, std::span<const float> in,
                std::span<const float> by_out, std::span<float> by_weights,
                std::span<float> by_in) const override {
    add_scaled(by_weights.last(outputs()), 1, by_out);
    for (std::size_t i = 0; i < inputs(); ++i) {
      if (in[i] != 0) add_scaled(by_weights.subspan(i * outputs(), outputs()), in[i], by_out);
    }
    for (std::size_t i = 0; i < by_in.size(); ++i) {
      by_in[i] += product(weights.subspan(i * outputs(), outputs()), by_out);
    }
  }
};

/// Weights are [row][column][from][to], and then the biases.
class Convolution final : public Layer {
 public:
  Convolution(std::size_t side, std::size_t from, std::size_t to, std::size_t stride)
      : Layer(side * side * from, out_side(side, stride) * out_side(side, stride) * to, 9 * from,
              to),
        side_(side),
        from_(from),
        to_(to),
        stride_(stride) {}

  void forward(std::span<const float> weights, std::span<const float> in,
               std::span<float> out) const override {
    for (std::size_t at = 0; at < out.size(); at += to_) {
      std::ranges::copy(weights.last(to_), out.subspan(at, to_).begin());
    }
    for_each_pair([&](std::size_t at, std::size_t from, std::size_t weight) {
      if (in[from] != 0) add_scaled(out.subspan(at, to_), in[from], weights.subspan(weight, to_));
    });
  }

  void backward(std::span<const float> weights, std::span<const float> in,
                std::span<const float> by_out, std::span<float> by_weights,
                std::span<float> by_in) const override {
    for (std::size_t at = 0; at < by_out.size(); at += to_) {
      add_scaled(by_weights.last(to_), 1, by_out.subspan(at, to_));
    }
    for_each_pair([&](std::size_t at, std::size_t from, std::size_t weight) {
      const std::span<const float> error = by_out.subspan(at, to_);
      if (in[from] != 0) add_scaled(by_weights.subspan(weight, to_), in[from], error);
      if (!by_in.empty()) by_in[from] += product(weights.subspan(weight, to_), error);
    });
  }

 private:
  static std::size_t out_side(std::size_t side, std::size_t stride) {
    return (side + stride - 1) / stride;
  }

  // visit(offset of an output's channels, index of an input, offset of its weights to the channels)
  template <typename Visit>
  void for_each_pair(Visit visit) const {
    const std::size_t out = out_side(side_, stride_);
    for (std::size_t pixel = 0; pixel < out * out; ++pixel) {
      for (std::size_t tap = 0; tap < 9; ++tap) {
        const std::size_t y = pixel / out * stride_ + tap / 3;  // Row of the input, plus 1.
        const std::size_t x = pixel % out * stride_ + tap % 3;
        if (y == 0 || x == 0 || y > side_ || x > side_) continue;
        const std::size_t in = ((y - 1) * side_ + x - 1) * from_;
        for (std::size_t channel = 0; channel < from_; ++channel) {
          visit(pixel * to_, in + channel, (tap * from_ + channel) * to_);
        }
      }
    }
  }

  std::size_t side_;
  std::size_t from_;
  std::size_t to_;
  std::size_t stride_;
};

}  // namespace

std::unique_ptr<Layer> dense(std::size_t inputs, std::size_t outputs) {
  return std::make_unique<Dense>(inputs, outputs);
}

std::unique_ptr<Layer> convolution(std::size_t side, std::size_t from, std::size_t to,
                                   std::size_t stride) {
  return std::make_unique<Convolution>(side, from, to, stride);
}

Views views_of(const Tensors& tensors) { return {tensors.begin(), tensors.end()}; }

Network::Network(std::vector<std::unique_ptr<Layer>> layers) : layers_(std::move(layers)) {
  for (const auto& layer : layers_) outputs_.emplace_back(layer->outputs());
  by_outputs_ = outputs_;
}

Tensors Network::initial(std::uint64_t seed) const {
  std::mt19937_64 random(seed);
  Tensors weights;
  for (const auto& layer : layers_) {
    std::normal_distribution<float> normal(0, std::sqrt(2 / static_cast<float>(layer->fan_in())));
    std::vector<float>& tensor = weights.emplace_back(layer->weights());
    std::generate(tensor.begin(), tensor.end() - static_cast<std::ptrdiff_t>(layer->biases()),
                  [&] { return normal(random); });
  }
  return weights;
}

void Network::forward(const Views& weights, std::span<const float> in) {
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    layers_[i]->forward(weights[i], in, outputs_[i]);
    if (i + 1 == layers_.size()) return;
    for (float& unit : outputs_[i]) unit = std::max(unit, 0.0F);
    in = outputs_[i];
  }
}

/// The loss of the last layer's outputs; leaves its gradient by them in by_outputs_.
double Network::softmax_cross_entropy(std::size_t label) {
  const std::vector<float>& logits = outputs_.back();
  std::vector<float>& by_logits = by_outputs_.back();
  const float highest = *std::ranges::max_element(logits);
  float sum = 0;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    by_logits[i] = std::exp(logits[i] - highest);
    sum += by_logits[i];
  }
  for (float& each : by_logits) each /= sum;
  by_logits[label] -= 1;
  return std::log(static_cast<double>(sum)) - static_cast<double>(logits[label] - highest);
}

void Network::backward(const Views& weights, std::span<const float> in, Tensors& gradient) {
  for (std::size_t i = layers_.size(); i-- > 0;) {
    if (i == 0) return layers_[0]->backward(weights[0], in, by_outputs_[0], gradient[0], {});
    std::vector<float>& below = by_outputs_[i - 1];
    std::ranges::fill(below, 0.0F);
    layers_[i]->backward(weights[i], outputs_[i - 1], by_outputs_[i], gradient[i], below);
    for (std::size_t unit = 0; unit < below.size(); ++unit) {
      if (outputs_[i - 1][unit] <= 0) below[unit] = 0;  // Inactive: no gradient.
    }
  }
}

double Network::loss_and_gradient(const Views& weights, const Samples& samples,
                                  std::span<const std::size_t> batch, Tensors& gradient) {
  gradient.resize(layers_.size());
  for (std::size_t i = 0; i < layers_.size(); ++i) gradient[i].assign(layers_[i]->weights(), 0);
  double loss = 0;
  for (const std::size_t index : batch) {
    forward(weights, samples.sample(index));
    loss += softmax_cross_entropy(samples.labels[index]);
    backward(weights, samples.sample(index), gradient);
  }
  const double share = 1 / static_cast<double>(batch.size());
  for (std::vector<float>& tensor : gradient) {
    for (float& value : tensor) value *= static_cast<float>(share);
  }
  return loss * share;
}

Score Network::score(const Views& weights, const Samples& samples) {
  Score score;
  for (std::size_t i = 0; i < samples.count(); ++i) {
    forward(weights, samples.sample(i));
    const std::vector<float>& logits = outputs_.back();
    const auto told = std::ranges::max_element(logits) - logits.begin();
    const double loss = softmax_cross_entropy(samples.labels[i]);
    // With NaN among the logits, max_element would choose class 0.
    if (std::isfinite(loss) && static_cast<std::size_t>(told) == samples.labels[i]) {
      score.accuracy += 1;
    }
    score.loss += loss;
  }
  score.accuracy /= static_cast<double>(samples.count());
  score.loss /= static_cast<double>(samples.count());
  return score;
}

}  // namespace converge

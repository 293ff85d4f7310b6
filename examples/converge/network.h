// SPDX-License-Identifier: Apache-2.0
// A small feed-forward network: dense and convolutional layers with rectified linear units between,
// softmax at the end, and the gradient of its cross-entropy by backpropagation. It does not depend
// on Stretto.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace converge {

/// Labelled samples; sample i has the features from i * inputs on.
struct Samples {
  std::size_t inputs = 0;
  std::vector<float> features;
  std::vector<std::size_t> labels;

  std::size_t count() const { return labels.size(); }
  std::span<const float> sample(std::size_t i) const {
    return std::span(features).subspan(i * inputs, inputs);
  }
};

/// One tensor's weights and its arithmetic for one sample: out = weights * in + bias.
class Layer {
 public:
  virtual ~Layer() = default;
  std::size_t inputs() const { return inputs_; }
  std::size_t outputs() const { return outputs_; }
  /// Elements of the tensor; the biases come last.
  std::size_t weights() const { return (fan_in_ + 1) * channels_; }
  /// Inputs of one unit.
  std::size_t fan_in() const { return fan_in_; }
  std::size_t biases() const { return channels_; }

  virtual void forward(std::span<const float> weights, std::span<const float> in,
                       std::span<float> out) const = 0;
  /// Adds the gradient by the weights to `by_weights`, and the gradient by the input to `by_in`
  /// unless `by_in` is empty.
  virtual void backward(std::span<const float> weights, std::span<const float> in,
                        std::span<const float> by_out, std::span<float> by_weights,
                        std::span<float> by_in) const = 0;

 protected:
  Layer(std::size_t inputs, std::size_t outputs, std::size_t fan_in, std::size_t channels)
      : inputs_(inputs), outputs_(outputs), fan_in_(fan_in), channels_(channels) {}

 private:
  std::size_t inputs_;
  std::size_t outputs_;
  std::size_t fan_in_;
  std::size_t channels_;
};

/// Connects every input to every output.
std::unique_ptr<Layer> dense(std::size_t inputs, std::size_t outputs);
/// A 3 x 3 convolution over square pictures of `side` pixels with `from` channels each (the
/// channels of one pixel are adjacent), to `to` channels. Pixels beyond the edge are 0. With a
/// stride of 2 it skips every other row and column.
std::unique_ptr<Layer> convolution(std::size_t side, std::size_t from, std::size_t to,
                                   std::size_t stride);

/// The weights of all layers, or a gradient: one tensor a layer.
using Tensors = std::vector<std::vector<float>>;
/// The same in memory that the caller owns.
using Views = std::vector<std::span<const float>>;

Views views_of(const Tensors& tensors);

/// The quality of a network on many samples.
struct Score {
  double accuracy = 0;  ///< Fraction of samples that are classified correctly.
  double loss = 0;      ///< Mean cross-entropy; not finite if the weights are not.
};

/// Thread: one at a time. The outputs of each layer are the inputs of the next layer; the last
/// layer has an output for each class.
class Network {
 public:
  explicit Network(std::vector<std::unique_ptr<Layer>> layers);

  std::size_t layers() const { return layers_.size(); }
  std::size_t inputs() const { return layers_.front()->inputs(); }
  std::size_t classes() const { return layers_.back()->outputs(); }
  /// Normal with variance 2 / fan-in (He et al., ICCV 2015); biases of 0.
  Tensors initial(std::uint64_t seed) const;
  /// The mean cross-entropy over the samples named by `batch`; `gradient` becomes its gradient.
  double loss_and_gradient(const Views& weights, const Samples& samples,
                           std::span<const std::size_t> batch, Tensors& gradient);
  Score score(const Views& weights, const Samples& samples);

 private:
  void forward(const Views& weights, std::span<const float> in);
  double softmax_cross_entropy(std::size_t label);
  void backward(const Views& weights, std::span<const float> in, Tensors& gradient);

  std::vector<std::unique_ptr<Layer>> layers_;
  Tensors outputs_;     // Outputs of each layer for one sample, rectified but for the last,
  Tensors by_outputs_;  // and the gradients by them.
};

}  // namespace converge

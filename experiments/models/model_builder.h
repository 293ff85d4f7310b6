// SPDX-License-Identifier: Apache-2.0
// Layers by formula: the building blocks of convolutional networks. Pure.
#pragma once

#include <fmt/core.h>

#include <string>
#include <utility>
#include <vector>

#include "experiments/models/models.h"

namespace stretto::bench::experiments {

/// The output of a layer: its producers and its shape.
struct Activation {
  std::vector<std::uint32_t> layers;  ///< Empty: the model's input.
  std::uint64_t channels = 0;
  std::uint64_t height = 0;
  std::uint64_t width = 0;
};

/// A filter, and its output's area; the kernel is k x k unless it has a width.
struct Filter {
  std::uint64_t channels = 0;
  std::uint64_t kernel = 1;
  std::uint64_t stride = 1;
  std::uint64_t padding = 0;
  std::uint64_t kernel_width = 0;
  std::uint64_t padding_width = 0;
};

class ModelBuilder {
 public:
  ModelBuilder(std::string name, Model::Times times, std::string source) {
    model_.name = std::move(name);
    model_.times = times;
    model_.source = std::move(source);
  }

  /// A layer with tensors {suffix, elements}.
  std::uint32_t layer(const std::string& name, std::vector<std::uint32_t> inputs,
                      const std::vector<std::pair<std::string, std::uint64_t>>& tensors,
                      double flops) {
    Model::Layer made{.name = name, .inputs = std::move(inputs), .tensors = {}, .flops = flops};
    for (const auto& [suffix, elements] : tensors) {
      made.tensors.push_back(static_cast<std::uint32_t>(model_.tensors.size()));
      model_.tensors.push_back({fmt::format("{}.{}", name, suffix), elements});
    }
    model_.layers.push_back(std::move(made));
    return static_cast<std::uint32_t>(model_.layers.size() - 1);
  }

  /// A convolution, without bias if batch normalisation follows.
  Activation conv(const std::string& name, const Activation& input, const Filter& filter,
                  bool bias) {
    const std::uint64_t wide = filter.kernel_width != 0 ? filter.kernel_width : filter.kernel;
    const std::uint64_t pad = filter.kernel_width != 0 ? filter.padding_width : filter.padding;
    Activation out{.layers = {}, .channels = filter.channels, .height = 0, .width = 0};
    out.height = (input.height + 2 * filter.padding - filter.kernel) / filter.stride + 1;
    out.width = (input.width + 2 * pad - wide) / filter.stride + 1;
    const std::uint64_t weights = filter.channels * input.channels * filter.kernel * wide;
    std::vector<std::pair<std::string, std::uint64_t>> tensors{{"weight", weights}};
    if (bias) tensors.emplace_back("bias", filter.channels);
    const double flops = 2.0 * static_cast<double>(weights * out.height * out.width);
    out.layers = {layer(name, input.layers, tensors, flops)};
    return out;
  }

  /// Two parameters a channel; two operations an element.
  Activation norm(const std::string& name, const Activation& input) {
    Activation out = input;
    const double flops = 2.0 * static_cast<double>(input.channels * input.height * input.width);
    out.layers = {
        layer(name, input.layers, {{"weight", input.channels}, {"bias", input.channels}}, flops)};
    return out;
  }

  Activation conv_norm(const std::string& name, const Activation& input, const Filter& filter) {
    return norm(name + ".bn", conv(name + ".conv", input, filter, false));
  }

  Activation full(const std::string& name, const Activation& input, std::uint64_t outputs) {
    const std::uint64_t inputs = input.channels * input.height * input.width;
    const double flops = 2.0 * static_cast<double>(inputs * outputs);
    return {{layer(name, input.layers, {{"weight", inputs * outputs}, {"bias", outputs}}, flops)},
            outputs,
            1,
            1};
  }

  Model take() { return std::move(model_); }

 private:
  Model model_;
};

/// Pooling has no parameters, and its time is not counted.
inline Activation pooled(Activation input, std::uint64_t kernel, std::uint64_t stride,
                         std::uint64_t padding) {
  input.height = (input.height + 2 * padding - kernel) / stride + 1;
  input.width = (input.width + 2 * padding - kernel) / stride + 1;
  return input;
}

/// Parallel branches: all of their channels.
inline Activation joined(const std::vector<Activation>& branches) {
  Activation all = branches.front();
  for (std::size_t i = 1; i < branches.size(); ++i) {
    all.channels += branches[i].channels;
    all.layers.insert(all.layers.end(), branches[i].layers.begin(), branches[i].layers.end());
  }
  return all;
}

Model inception_v3();
Model densenet121();

}  // namespace stretto::bench::experiments

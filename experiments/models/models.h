// SPDX-License-Identifier: Apache-2.0
// The models for replay: the tensors, the cost and the inputs of each layer, derived by formula
// from their architectures. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "stretto/order.h"
#include "stretto/status.h"

namespace stretto::bench::experiments {

struct Model {
  struct TensorShape {
    std::string name;
    std::uint64_t elements = 0;  ///< Of f32.
  };
  struct Layer {
    std::string name;
    std::vector<std::uint32_t> inputs;   ///< Earlier layers.
    std::vector<std::uint32_t> tensors;  ///< Of this layer alone.
    double flops = 0;                    ///< Forward, for one sample; used as a fraction only.
  };
  /// The times of an iteration. Both 0: no published time exists for this model.
  struct Times {
    double forward_s = 0;
    double backward_s = 0;
  };

  std::string name;
  std::vector<TensorShape> tensors;
  std::vector<Layer> layers;  ///< In the order of the forward pass.
  Times times;
  std::string source;  ///< The source of the times.

  std::uint64_t parameters() const;
  std::uint64_t bytes() const { return 4 * parameters(); }
  std::uint64_t largest_bytes() const;
};

/// alexnet, vgg16, resnet50, inception_v3 (with its auxiliary head), densenet121 or bert_base.
Result<Model> find_model(std::string_view name);
std::vector<std::string_view> model_names();

/// The forward pass in which every tensor is a transfer. Each layer takes its part of `forward_s`;
/// a transfer takes its bytes / `bytes_per_second`.
ModelGraph graph_of(const Model& model, double forward_s, double bytes_per_second);

/// The fraction of the total time of each layer: by its flops, forward and backward alike.
std::vector<double> shares_of(const Model& model);

}  // namespace stretto::bench::experiments

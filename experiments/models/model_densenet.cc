// SPDX-License-Identifier: Apache-2.0
// DenseNet-121 (Huang et al., CVPR 2017) in torchvision's form: 364 tensors, of which 242 belong to
// batch normalisations. Times are sums of PipeDream's published profile, as for the other CNNs
// (models.cc), without its input.
#include "experiments/models/model_builder.h"

namespace stretto::bench::experiments {
namespace {

constexpr std::uint64_t kGrowth = 32;

// Normalisation and 1x1 convolution, then normalisation and 3x3 convolution.
Activation dense_layer(ModelBuilder& build, const std::string& name, const Activation& input) {
  Activation at = build.norm(name + ".norm1", input);
  at = build.conv(name + ".conv1", at, {.channels = 4 * kGrowth}, false);
  at = build.norm(name + ".norm2", at);
  return build.conv(name + ".conv2", at, {.channels = kGrowth, .kernel = 3, .padding = 1}, false);
}

}  // namespace

Model densenet121() {
  ModelBuilder build("densenet121", {.forward_s = 0.1774, .backward_s = 0.1488},
                     "PipeDream's published profile; each layer's share by its flops");
  Activation at{{}, 3, 224, 224};
  at = build.conv_norm("stem", at, {.channels = 64, .kernel = 7, .stride = 2, .padding = 3});
  at = pooled(at, 3, 2, 1);
  int block = 0;
  for (const int layers : {6, 12, 24, 16}) {
    if (block > 0) {
      const std::string name = fmt::format("transition{}", block);
      at = build.norm(name + ".norm", at);
      at = pooled(build.conv(name + ".conv", at, {.channels = at.channels / 2}, false), 2, 2, 0);
    }
    ++block;
    for (int i = 0; i < layers; ++i) {
      at = joined({at, dense_layer(build, fmt::format("block{}.{}", block, i + 1), at)});
    }
  }
  at = build.norm("norm5", at);
  at.height = at.width = 1;  // Mean pooling over the area.
  build.full("classifier", at, 1000);
  return build.take();
}

}  // namespace stretto::bench::experiments

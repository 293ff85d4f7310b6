// SPDX-License-Identifier: Apache-2.0
// In which order a backward pass computes, and which gradients that brings when. Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "experiments/models/models.h"
#include "stretto/types.h"

namespace stretto::bench::experiments {

/// A piece of a backward pass.
struct BackwardStep {
  friend bool operator==(const BackwardStep&, const BackwardStep&) = default;
  std::uint32_t layer = 0;
  Duration time{};
  bool brings_gradients = false;  ///< Those of all tensors of the layer, at its end.
};

/// As PyTorch's engine computes: layers from the last to the first, each at once. `times`: of each
/// layer.
std::vector<BackwardStep> backward_by_layers(const std::vector<Duration>& times);

/// By the graph, where gradients of weights may be computed apart from those that earlier layers
/// wait for: next what brings the most bytes for the computing that it still needs. Each half of a
/// layer takes half of its time; a layer without tensors has one half, and so has one whose input
/// is the model's. A reconstruction of what Caramel does by its transfers' windows (Hashemi et al.,
/// 2020): its code is not published.
std::vector<BackwardStep> backward_by_bytes(const Model& model, const std::vector<Duration>& times);

}  // namespace stretto::bench::experiments

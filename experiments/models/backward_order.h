// SPDX-License-Identifier: Apache-2.0
// The compute order of a backward pass, and when its gradients are ready. Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "experiments/models/models.h"
#include "stretto/types.h"

namespace stretto::bench::experiments {

/// A step of a backward pass.
struct BackwardStep {
  friend bool operator==(const BackwardStep&, const BackwardStep&) = default;
  std::uint32_t layer = 0;
  Duration time{};
  bool brings_gradients = false;  ///< Of all tensors of the layer, at its end.
};

/// The order of PyTorch's engine: layers from last to first, each as a whole. `times`: of each
/// layer.
std::vector<BackwardStep> backward_by_layers(const std::vector<Duration>& times);

/// The order by the graph, where weight gradients can be computed separately from the gradients for
/// earlier layers. Next is always the layer with the most bytes per remaining compute time. Each
/// half of a layer takes half of its time; a layer without tensors has one half, as does one whose
/// input is the model's. A reconstruction of Caramel (Hashemi et al., 2020), whose code is not
/// published.
std::vector<BackwardStep> backward_by_bytes(const Model& model, const std::vector<Duration>& times);

}  // namespace stretto::bench::experiments

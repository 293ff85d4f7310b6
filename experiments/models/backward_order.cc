// SPDX-License-Identifier: Apache-2.0
// List scheduling on the reversed graph: both halves of a layer, `passed on` and `of weights`, need
// the passed-on gradients of all layers that use its output.
#include "experiments/models/backward_order.h"

#include <algorithm>
#include <functional>

#include "common/clock.h"

namespace stretto::bench::experiments {
namespace {

class ByBytes {
 public:
  ByBytes(const Model& model, const std::vector<Duration>& times)
      : model_(model),
        times_(times),
        users_(model.layers.size()),
        passed_on_(model.layers.size()),
        bytes_(model.layers.size()) {
    for (std::uint32_t i = 0; i < model.layers.size(); ++i) {
      for (const std::uint32_t input : model.layers[i].inputs) users_[input].push_back(i);
      for (const std::uint32_t tensor : model.layers[i].tensors) {
        bytes_[i] += 4 * model.tensors[tensor].elements;
      }
      passed_on_[i] = model.layers[i].inputs.empty();  // No layer waits for it.
    }
  }

  std::vector<BackwardStep> steps() {
    std::vector<std::uint32_t> left;
    for (std::uint32_t i = 0; i < model_.layers.size(); ++i) {
      if (!model_.layers[i].tensors.empty()) left.push_back(i);
    }
    while (!left.empty()) {
      const auto next = std::max_element(left.begin(), left.end(), [this](auto a, auto b) {
        return bytes_per_second(a) < bytes_per_second(b);
      });
      const std::uint32_t layer = *next;
      for (const std::uint32_t each : needed_by(layer)) pass_on(each);
      steps_.push_back({layer, half(layer), true});
      left.erase(next);
    }
    for (auto i = static_cast<std::uint32_t>(model_.layers.size()); i-- > 0;) {
      if (!passed_on_[i]) pass_on(i);
    }
    return std::move(steps_);
  }

 private:
  // A layer with only one half spends all of its time on that half.
  Duration half(std::uint32_t layer) const {
    const Model::Layer& its = model_.layers[layer];
    return its.tensors.empty() || its.inputs.empty() ? times_[layer] : times_[layer] / 2;
  }

  void pass_on(std::uint32_t layer) {
    passed_on_[layer] = true;
    steps_.push_back({layer, half(layer), false});
  }

  // Layers to pass on before this layer's gradients can be computed, later layers first.
  std::vector<std::uint32_t> needed_by(std::uint32_t layer) const {
    std::vector<std::uint32_t> needed;
    std::vector<bool> seen(model_.layers.size());
    std::vector<std::uint32_t> open{layer};
    while (!open.empty()) {
      const std::uint32_t at = open.back();
      open.pop_back();
      for (const std::uint32_t user : users_[at]) {
        if (passed_on_[user] || seen[user]) continue;
        seen[user] = true;
        needed.push_back(user);
        open.push_back(user);
      }
    }
    std::sort(needed.begin(), needed.end(), std::greater<>());  // A layer's users come after it.
    return needed;
  }

  double bytes_per_second(std::uint32_t layer) const {
    Duration time = half(layer);
    for (const std::uint32_t each : needed_by(layer)) time += half(each);
    return static_cast<double>(bytes_[layer]) / std::max(seconds(time), 1e-12);
  }

  const Model& model_;
  const std::vector<Duration>& times_;
  std::vector<std::vector<std::uint32_t>> users_;
  std::vector<bool> passed_on_;
  std::vector<std::uint64_t> bytes_;
  std::vector<BackwardStep> steps_;
};

}  // namespace

std::vector<BackwardStep> backward_by_layers(const std::vector<Duration>& times) {
  std::vector<BackwardStep> steps;
  for (auto i = static_cast<std::uint32_t>(times.size()); i-- > 0;) {
    steps.push_back({i, times[i], true});
  }
  return steps;
}

std::vector<BackwardStep> backward_by_bytes(const Model& model,
                                            const std::vector<Duration>& times) {
  return ByBytes(model, times).steps();
}

}  // namespace stretto::bench::experiments

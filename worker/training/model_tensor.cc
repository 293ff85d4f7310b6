// SPDX-License-Identifier: Apache-2.0
// Adds updates to values, whole or in the parts that lack them.
#include "worker/training/model_tensor.h"

#include <utility>

#include "ops/sum.h"

namespace stretto {

ModelTensor::ModelTensor(std::string name, std::span<const float> values, Optimizer optimizer)
    : name_(std::move(name)),
      optimizer_(std::move(optimizer)),
      values_(values.begin(), values.end()),
      incoming_(values.size()),
      updates_{incoming_, incoming_} {}

void ModelTensor::make_update(std::span<const float> gradient, double factor) {
  ++rounds_;
  optimizer_.make_update(gradient, values_, factor, updates_[rounds_ % 2]);
}

void ModelTensor::add_missing(std::span<const PartInfo> parts) {
  for (const PartInfo& part : parts) {
    const std::size_t first = part.offset / sizeof(float);
    const std::size_t count = part.bytes / sizeof(float);
    for (std::uint64_t round = part.info.applied + 1; round <= rounds_; ++round) {
      add(incoming().subspan(first, count),
          std::span<const float>(updates_[round % 2]).subspan(first, count));
    }
  }
}

void ModelTensor::add(std::span<float> sum, std::span<const float> more) {
  ops::sum_into(Dtype::kF32, std::as_writable_bytes(sum), std::as_bytes(more));
}

}  // namespace stretto

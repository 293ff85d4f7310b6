// SPDX-License-Identifier: Apache-2.0
// Contributions whose sums are exact in any order.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string_view>
#include <vector>

#include "stretto/worker.h"

namespace stretto::live {

using Floats = std::vector<float>;

inline Tensor declare(Worker& worker, std::string_view name, Dtype dtype, std::size_t elements,
                      const TensorOptions& options = {}) {
  Result<Tensor> tensor = worker.declare(name, dtype, elements, options);
  EXPECT_TRUE(tensor.ok()) << tensor.status().text();
  return tensor.ok() ? *tensor : Tensor();
}

/// Numbers that differ at every position, in every round, and from worker to worker.
inline Floats numbers(std::size_t count, Rank rank, int round) {
  Floats all(count);
  for (std::size_t i = 0; i < count; ++i) {
    all[i] = static_cast<float>(i % 1000) + 1000.0F * static_cast<float>(rank + 1) +
             static_cast<float>(round);
  }
  return all;
}

inline Floats sum_of(std::size_t count, std::uint32_t workers, int round) {
  Floats sum(count);
  for (Rank rank = 0; rank < workers; ++rank) {
    const Floats share = numbers(count, rank, round);
    std::transform(sum.begin(), sum.end(), share.begin(), sum.begin(), std::plus<>());
  }
  return sum;
}

}  // namespace stretto::live

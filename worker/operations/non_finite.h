// SPDX-License-Identifier: Apache-2.0
// What happens to contributions with elements that are NaN or infinite, by their tensors' policy
// (NonFinite).
#pragma once

#include <cstdint>

#include "worker/operations/tensor_table.h"

namespace stretto {

/// Thread: loop.
struct NonFiniteAction {
  enum class Next : std::uint8_t {
    kBegin,  ///< It may begin, perhaps as another kind of operation.
    kEnd,    ///< It has ended.
    kFail    ///< Its tensor fails, at all workers.
  };
  Next next = Next::kBegin;
  Status why = {};  ///< Of the last two.
};

/// For an operation with such elements, the `count`th here. Logs it, at growing intervals.
NonFiniteAction judge_not_finite(Operation& operation, const TensorState& tensor,
                                 std::uint64_t count);

}  // namespace stretto

// SPDX-License-Identifier: Apache-2.0
// What becomes of contributions with elements that are NaN or infinite, by what their tensors say
// (NonFinite).
#pragma once

#include <cstdint>

#include "worker/operations/tensor_table.h"

namespace stretto {

/// Thread: loop.
struct NonFiniteAction {
  enum class Next : std::uint8_t {
    kBegin,  ///< It may begin, perhaps as another operation than it was.
    kEnd,    ///< It has ended.
    kFail    ///< So has its tensor, at all workers.
  };
  Next next = Next::kBegin;
  Status why = {};  ///< Of the last two.
};

/// Of an operation that has such elements, the `count`th here. The log says so, ever more rarely.
NonFiniteAction judge_not_finite(Operation& operation, const TensorState& tensor,
                                 std::uint64_t count);

}  // namespace stretto

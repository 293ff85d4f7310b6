// SPDX-License-Identifier: Apache-2.0
// What reductions are called.
#include "stretto/reduce_op.h"

#include <array>

namespace stretto {

std::string_view name_of(ReduceOp op) {
  constexpr std::array<std::string_view, 8> kNames = {"sum", "min", "max", "product",
                                                      "and", "or",  "xor", "average"};
  const auto index = static_cast<std::size_t>(op);
  return index < kNames.size() ? kNames[index] : "unknown";
}

}  // namespace stretto

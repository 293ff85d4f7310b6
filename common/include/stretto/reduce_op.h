// SPDX-License-Identifier: Apache-2.0
// ReduceOp: how contributions are combined. Public: installed with the worker API.
#pragma once

#include <cstdint>
#include <string_view>

#include "stretto/types.h"

#pragma GCC visibility push(default)
namespace stretto {

/// How a round combines two elements. kMin and kMax give NaN if either element is NaN, and take -0
/// for less than 0, so that contributions may arrive in any order. kAnd, kOr and kXor combine the
/// bits of integers. kAverage divides the sum at the end, in the element's own type; integers round
/// towards minus infinity. The values are part of the wire format and never change.
enum class ReduceOp : std::uint8_t {
  kSum = 0,
  kMin = 1,
  kMax = 2,
  kProduct = 3,
  kAnd = 4,
  kOr = 5,
  kXor = 6,
  kAverage = 7,
};

/// "sum", "min", "max", "product", "and", "or", "xor", "average"; "unknown" for another number.
std::string_view name_of(ReduceOp op);

}  // namespace stretto
#pragma GCC visibility pop

// SPDX-License-Identifier: Apache-2.0
// What is made of two numbers where contributions meet. Public: installed with the worker API.
#pragma once

#include <cstdint>
#include <string_view>

#include "stretto/types.h"

#pragma GCC visibility push(default)
namespace stretto {

/// What a round makes of two numbers. kMin and kMax are NaN where either is, and take -0 for less
/// than 0, so that contributions may come in any order. kAnd, kOr and kXor are of the bits of
/// integers. kAverage is a sum that is divided at the end, in the element's own type: of integers
/// rounded towards minus infinity. The numbers are the wire's; they never change.
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

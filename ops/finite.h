// SPDX-License-Identifier: Apache-2.0
// Whether numbers are numbers: looks for NaN and Inf. Pure; thread: any.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "stretto/types.h"

namespace stretto::ops {

/// Elements that are NaN or infinite.
struct NotFinite {
  std::size_t count = 0;  ///< At least one.
  std::size_t first = 0;  ///< The index of the first,
  double value = 0;       ///< and what it is.
};

/// Of elements of this type, which may lie anywhere in memory; none: all are finite. Integers are.
/// Reads the bytes once, and once more from the first that is not.
std::optional<NotFinite> find_not_finite(Dtype dtype, std::span<const std::byte> elements);

}  // namespace stretto::ops

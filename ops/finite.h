// SPDX-License-Identifier: Apache-2.0
// Searches elements for NaN and Inf. Pure; thread: any.
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

/// Searches elements of this type, at any alignment; none: all are finite, as integers always are.
/// Reads the bytes once, and again from the first element that is not finite.
std::optional<NotFinite> find_not_finite(Dtype dtype, std::span<const std::byte> elements);

}  // namespace stretto::ops

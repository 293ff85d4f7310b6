// SPDX-License-Identifier: Apache-2.0
// Cut: how a tensor is divided into parts.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/tensor_spec.h"

namespace stretto {

/// How a tensor is cut into parts: every part but the last has the same number of whole elements.
struct Cut {
  std::uint64_t elements = 0;
  std::uint64_t part_elements = 1;
  std::size_t element_bytes = 1;

  Cut(const TensorSpec& spec, std::uint32_t part_bytes);
  /// Right for what the scheduler has accepted: at most kMaxParts.
  std::uint32_t parts() const;
  std::uint64_t elements_of(std::uint32_t part) const;
  std::size_t offset_of(std::uint32_t part) const;  ///< In bytes.
  std::size_t bytes_of_part(std::uint32_t part) const;
};

}  // namespace stretto

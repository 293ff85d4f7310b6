// SPDX-License-Identifier: Apache-2.0
// Parts are as even as whole elements permit, and numbered from the front.
#include "core/cut.h"

#include <algorithm>

namespace stretto {

Cut::Cut(const TensorSpec& spec, std::uint32_t part_bytes)
    : elements(spec.elements), element_bytes(bytes_of(spec.dtype)) {
  part_elements = std::max<std::uint64_t>(1, part_bytes / element_bytes);
}

std::uint32_t Cut::parts() const {
  return static_cast<std::uint32_t>((elements + part_elements - 1) / part_elements);
}

std::uint64_t Cut::elements_of(std::uint32_t part) const {
  return std::min(part_elements, elements - part * part_elements);
}

std::size_t Cut::offset_of(std::uint32_t part) const {
  return part * part_elements * element_bytes;
}

std::size_t Cut::bytes_of_part(std::uint32_t part) const {
  return elements_of(part) * element_bytes;
}

}  // namespace stretto

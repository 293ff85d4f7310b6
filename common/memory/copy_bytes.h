// SPDX-License-Identifier: Apache-2.0
// copy_bytes: copies bytes of tensors. The algorithms of std::ranges copy std::byte one at a time
// if g++ 12 cannot prove that the spans do not overlap.
#pragma once

#include <cstddef>
#include <cstring>
#include <span>

#include "common/check.h"

namespace stretto {

/// Copies `from` to the first bytes of `to`; they must not overlap. Thread: any.
inline void copy_bytes(std::span<const std::byte> from, std::span<std::byte> to) {
  STRETTO_CHECK(from.size() <= to.size());
  if (!from.empty()) std::memcpy(to.data(), from.data(), from.size());
}

}  // namespace stretto

// SPDX-License-Identifier: Apache-2.0
// copy_bytes: bytes of tensors from one place to another. The algorithms of std::ranges copy spans
// of std::byte one by one where the compiler does not see that they are apart (g++ 12).
#pragma once

#include <cstddef>
#include <cstring>
#include <span>

#include "common/check.h"

namespace stretto {

/// To the first bytes of `to`, which does not overlap `from`. Thread: any.
inline void copy_bytes(std::span<const std::byte> from, std::span<std::byte> to) {
  STRETTO_CHECK(from.size() <= to.size());
  if (!from.empty()) std::memcpy(to.data(), from.data(), from.size());
}

}  // namespace stretto

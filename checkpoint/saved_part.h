// SPDX-License-Identifier: Apache-2.0
// The format of a server's saved part, which an entry of kind kPart holds: Store writes and loads
// it, tools read it. Numbers are little-endian:
//
//   head    SavedPartHead, 32 bytes
//   value   value_bytes: the part's elements, or what a codec made of them
//   owed    owed_bytes: what encoding values has left out so far, an f32 for each element; or none
//   memory  what the update rule remembers (ops::remembered_bytes)
#pragma once

#include <cstdint>

namespace stretto {

struct SavedPartHead {
  std::uint64_t version = 0;      ///< Of the value; 0: there is none yet.
  std::uint64_t value_bytes = 0;  ///< 0 in version 0.
  std::uint64_t owed_bytes = 0;
  std::uint32_t contributors = 0;
  std::uint32_t codec = 0;  ///< A Codec, of the value; 0: plain elements.
};
static_assert(sizeof(SavedPartHead) == 32);

}  // namespace stretto

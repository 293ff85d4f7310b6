// SPDX-License-Identifier: Apache-2.0
// Names of the element types.
#include "stretto/types.h"

#include <iterator>

#include "stretto/codec.h"

namespace stretto {

std::string_view name_of(Dtype dtype) {
  switch (dtype) {
    case Dtype::kF32:
      return "f32";
    case Dtype::kF64:
      return "f64";
    case Dtype::kF16:
      return "f16";
    case Dtype::kBf16:
      return "bf16";
    case Dtype::kI8:
      return "i8";
    case Dtype::kU8:
      return "u8";
    case Dtype::kI32:
      return "i32";
    case Dtype::kI64:
      return "i64";
  }
  return "unknown";
}

std::string_view name_of(Codec codec) {
  constexpr std::string_view kCodecNames[] = {"none",   "fp16", "bf16",    "int8",
                                              "onebit", "topk", "randomk", "dithering"};
  const auto index = static_cast<std::size_t>(codec);
  return index < std::size(kCodecNames) ? kCodecNames[index] : "unknown";
}

}  // namespace stretto

// SPDX-License-Identifier: Apache-2.0
// The kernels for any processor, in the 16-byte vectors that nearly all processors have; for others
// the compiler generates scalar code. f16 is converted one by one.
#include "ops/half.h"
#include "ops/vector_kernels.h"

namespace stretto::ops {

namespace {

struct Portable {
  static constexpr std::size_t kVectorBytes = 16;
  using Halves = std::uint16_t;
  using Floats = float;
  static Floats widen(Halves halves) { return widen_half(halves); }
  static Halves narrow(Floats floats) { return narrow_to_half(floats); }
};

}  // namespace

const Kernels& portable_kernels() {
  static constexpr Kernels kTable = VectorKernels<Portable>::table();
  return kTable;
}

}  // namespace stretto::ops

// SPDX-License-Identifier: Apache-2.0
// The kernels for processors with AVX-512 F, BW, VL and DQ (servers since 2017). Compiled with
// those flags, so nothing here may run before processor_level() has said that it can.
#include <immintrin.h>

#include "ops/vector_kernels.h"

namespace stretto::ops {

namespace {

struct Avx512 {
  static constexpr std::size_t kVectorBytes = 64;
  static constexpr __mmask16 kAllLanes = 0xffff;
  using Halves = __m256i;
  using Floats = __m512;
  // The forms with a mask are the same instructions; g++ 12 warns of its own header in the others.
  static Floats widen(Halves halves) { return _mm512_maskz_cvtph_ps(kAllLanes, halves); }
  static Halves narrow(Floats floats) {
    return _mm512_maskz_cvtps_ph(kAllLanes, floats, _MM_FROUND_TO_NEAREST_INT);
  }
};

}  // namespace

const Kernels& avx512_kernels() {
  static constexpr Kernels kTable = VectorKernels<Avx512>::table();
  return kTable;
}

}  // namespace stretto::ops

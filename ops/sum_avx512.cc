// SPDX-License-Identifier: Apache-2.0
// The kernels for processors with AVX-512 F, BW, VL and DQ (servers since 2017), compiled with
// those flags. Nothing here may run unless processor_level() permits it.
#include <immintrin.h>

#include "ops/vector_kernels.h"

namespace stretto::ops {

namespace {

struct Avx512 {
  static constexpr std::size_t kVectorBytes = 64;
  static constexpr __mmask16 kAllLanes = 0xffff;
  using Halves = __m256i;
  using Floats = __m512;
  // The masked forms are the same instructions; the others make g++ 12 warn in its own header.
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

// SPDX-License-Identifier: Apache-2.0
// The loops of codecs for processors with AVX-512 F, BW, VL and DQ, compiled with those flags.
// Nothing here may run unless processor_level() permits it.
#include <immintrin.h>

#include "ops/codec_loops.h"

namespace stretto::ops {

namespace {

struct Avx512Codec {
  static std::uint16_t signs(const float* in) {
    return static_cast<std::uint16_t>(_mm512_movepi32_mask(_mm512_loadu_si512(in)));
  }
  static std::size_t places(std::uint32_t* out, const float* in, std::uint32_t least,
                            std::uint32_t first) {
    const __m512i sizes = _mm512_and_si512(_mm512_loadu_si512(in), _mm512_set1_epi32(0x7fffffff));
    const __mmask16 mask =
        _mm512_cmpge_epu32_mask(sizes, _mm512_set1_epi32(static_cast<int>(least)));
    if (mask == 0) return 0;
    const __m512i lanes = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    const __m512i all = _mm512_add_epi32(lanes, _mm512_set1_epi32(static_cast<int>(first)));
    _mm512_storeu_si512(out, _mm512_maskz_compress_epi32(mask, all));
    return static_cast<std::size_t>(__builtin_popcount(mask));
  }
};

}  // namespace

const CodecKernels& avx512_codec_kernels() {
  static constexpr CodecKernels kTable = CodecLoops<Avx512Codec>::table();
  return kTable;
}

}  // namespace stretto::ops

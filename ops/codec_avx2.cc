// SPDX-License-Identifier: Apache-2.0
// The loops of codecs for processors with AVX2, compiled with that flag. Nothing here may run
// unless processor_level() permits it.
#include <immintrin.h>

#include "ops/codec_loops.h"

namespace stretto::ops {

namespace {

struct Avx2Codec {
  static std::uint16_t signs(const float* in) {
    const int low = _mm256_movemask_ps(_mm256_loadu_ps(in));
    const int high = _mm256_movemask_ps(_mm256_loadu_ps(in + 8));
    return static_cast<std::uint16_t>(low | (high << 8));
  }
  /// Mask of the eight elements of size >= `least`, by comparing sizes as integers with least - 1.
  static int reach(const float* in, std::uint32_t least) {
    const __m256i bits = _mm256_castps_si256(_mm256_loadu_ps(in));
    const __m256i sizes = _mm256_and_si256(bits, _mm256_set1_epi32(0x7fffffff));
    const __m256i bound = _mm256_set1_epi32(static_cast<int>(least) - 1);
    return _mm256_movemask_ps(_mm256_castsi256_ps(_mm256_cmpgt_epi32(sizes, bound)));
  }
  static std::size_t places(std::uint32_t* out, const float* in, std::uint32_t least,
                            std::uint32_t first) {
    auto mask = static_cast<unsigned>(reach(in, least) | (reach(in + 8, least) << 8));
    std::size_t found = 0;
    for (; mask != 0; mask &= mask - 1) {
      out[found++] = first + static_cast<std::uint32_t>(__builtin_ctz(mask));
    }
    return found;
  }
};

}  // namespace

const CodecKernels& avx2_codec_kernels() {
  static constexpr CodecKernels kTable = CodecLoops<Avx2Codec>::table();
  return kTable;
}

}  // namespace stretto::ops

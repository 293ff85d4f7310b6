// SPDX-License-Identifier: Apache-2.0
// The loops of codecs for any processor.
#include "ops/codec_loops.h"

namespace stretto::ops {

namespace {

struct PortableCodec {
  static std::uint32_t bits_of(float value) { return __builtin_bit_cast(std::uint32_t, value); }
  static std::uint16_t signs(const float* in) {
    std::uint32_t word = 0;
    for (std::uint32_t i = 0; i < 16; ++i) word |= (bits_of(in[i]) >> 31) << i;
    return static_cast<std::uint16_t>(word);
  }
  static std::size_t places(std::uint32_t* out, const float* in, std::uint32_t least,
                            std::uint32_t first) {
    std::size_t found = 0;
    for (std::uint32_t i = 0; i < 16; ++i) {
      out[found] = first + i;
      found += (bits_of(in[i]) & 0x7fffffffU) >= least ? 1 : 0;
    }
    return found;
  }
};

}  // namespace

const CodecKernels& portable_codec_kernels() {
  static constexpr CodecKernels kTable = CodecLoops<PortableCodec>::table();
  return kTable;
}

}  // namespace stretto::ops

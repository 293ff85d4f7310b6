// SPDX-License-Identifier: Apache-2.0
// Stands in for processor_x86.cc and all of AVX2 and AVX-512 where the processor is another: the
// portable kernels do all the work.
#include "common/check.h"
#include "ops/codec_kernels.h"
#include "ops/kernels.h"

namespace stretto::ops {

Level processor_level() { return Level::kPortable; }

const Kernels& avx2_kernels() {
  STRETTO_CHECK(processor_level() >= Level::kAvx2);
  return portable_kernels();
}

const Kernels& avx512_kernels() {
  STRETTO_CHECK(processor_level() >= Level::kAvx512);
  return portable_kernels();
}

const CodecKernels& avx2_codec_kernels() {
  STRETTO_CHECK(processor_level() >= Level::kAvx2);
  return portable_codec_kernels();
}

const CodecKernels& avx512_codec_kernels() {
  STRETTO_CHECK(processor_level() >= Level::kAvx512);
  return portable_codec_kernels();
}

}  // namespace stretto::ops

// SPDX-License-Identifier: Apache-2.0
// Stands in for processor_x86.cc, sum_avx2.cc and sum_avx512.cc where the processor is another: the
// portable kernels do all the work.
#include "common/check.h"
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

}  // namespace stretto::ops

// SPDX-License-Identifier: Apache-2.0
// Which kernels an x86-64 processor can run. Compiled without special flags: it runs everywhere.
#include <cpuid.h>

#include "ops/kernels.h"

namespace stretto::ops {

namespace {

/// __builtin_cpu_supports of clang 14 does not know F16C.
bool has_f16c() {
  unsigned int eax = 0;
  unsigned int ebx = 0;
  unsigned int ecx = 0;
  unsigned int edx = 0;
  return __get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0 && (ecx & bit_F16C) != 0;
}

}  // namespace

Level processor_level() {
  // These also check the operating system's support, which F16C needs as AVX2 does.
  if (!__builtin_cpu_supports("avx2") || !has_f16c()) return Level::kPortable;
  const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
  return avx512 ? Level::kAvx512 : Level::kAvx2;
}

}  // namespace stretto::ops

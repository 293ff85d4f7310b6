// SPDX-License-Identifier: Apache-2.0
// Chooses the conversion kernel; f32 and f64 are only copied.
#include "ops/convert.h"

#include <cstring>

#include "common/check.h"
#include "ops/kernels.h"

namespace stretto::ops {

namespace {

void copy(std::byte* out, const std::byte* in, std::size_t out_bytes) {
  if (out_bytes != 0) std::memcpy(out, in, out_bytes);
}

/// The kernel for `dtype`, of the two kernels of a level.
Kernels::Convert choose(Dtype dtype, Kernels::Convert f16, Kernels::Convert bf16) {
  if (dtype == Dtype::kF16) return f16;
  if (dtype == Dtype::kBf16) return bf16;
  STRETTO_CHECK(dtype == Dtype::kF32);
  return copy;
}

/// Checks that `bytes` hold `numbers` elements, and that arithmetic on `dtype` uses Real.
template <typename Real>
void check_sizes(Dtype dtype, std::size_t bytes, std::size_t numbers) {
  STRETTO_CHECK((dtype == Dtype::kF64) == (sizeof(Real) == sizeof(double)));
  STRETTO_CHECK(bytes == numbers * bytes_of(dtype));
}

}  // namespace

void widen(Level level, Dtype dtype, std::span<const std::byte> elements,
           std::span<float> numbers) {
  check_sizes<float>(dtype, elements.size(), numbers.size());
  const Kernels& kernels = kernels_of(level);
  const std::span<std::byte> out = std::as_writable_bytes(numbers);
  choose(dtype, kernels.widen_f16, kernels.widen_bf16)(out.data(), elements.data(), out.size());
}

void widen(Dtype dtype, std::span<const std::byte> elements, std::span<float> numbers) {
  widen(best_level(), dtype, elements, numbers);
}

void widen(Dtype dtype, std::span<const std::byte> elements, std::span<double> numbers) {
  check_sizes<double>(dtype, elements.size(), numbers.size());
  copy(std::as_writable_bytes(numbers).data(), elements.data(), elements.size());
}

void narrow(Level level, Dtype dtype, std::span<const float> numbers,
            std::span<std::byte> elements) {
  check_sizes<float>(dtype, elements.size(), numbers.size());
  const Kernels& kernels = kernels_of(level);
  const std::byte* in = std::as_bytes(numbers).data();
  choose(dtype, kernels.narrow_f16, kernels.narrow_bf16)(elements.data(), in, elements.size());
}

void narrow(Dtype dtype, std::span<const float> numbers, std::span<std::byte> elements) {
  narrow(best_level(), dtype, numbers, elements);
}

void narrow(Dtype dtype, std::span<const double> numbers, std::span<std::byte> elements) {
  check_sizes<double>(dtype, elements.size(), numbers.size());
  copy(elements.data(), std::as_bytes(numbers).data(), elements.size());
}

}  // namespace stretto::ops

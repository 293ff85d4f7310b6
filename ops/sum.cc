// SPDX-License-Identifier: Apache-2.0
// Chooses the kernel of a sum, and divides. Division comes once a round, not once a share, so it
// has no kernels of its own.
#include "ops/sum.h"

#include <cstring>

#include "common/check.h"
#include "ops/convert.h"
#include "ops/kernels.h"

namespace stretto::ops {

namespace {

/// Null for a number that is no Dtype.
Kernels::Sum sum_of(const Kernels& kernels, Dtype dtype) {
  switch (dtype) {
    case Dtype::kF32:
      return kernels.sum_f32;
    case Dtype::kF64:
      return kernels.sum_f64;
    case Dtype::kF16:
      return kernels.sum_f16;
    case Dtype::kBf16:
      return kernels.sum_bf16;
    case Dtype::kI8:
    case Dtype::kU8:
      return kernels.sum_8;
    case Dtype::kI32:
      return kernels.sum_32;
    case Dtype::kI64:
      return kernels.sum_64;
  }
  return nullptr;
}

template <typename Real>
void divide_floating(Dtype dtype, std::span<std::byte> target, std::uint32_t divisor) {
  const auto by = static_cast<Real>(divisor);
  change_in_pieces<Real>(dtype, target, [by](std::size_t, std::span<Real> numbers) {
    for (Real& number : numbers) number /= by;
  });
}

template <typename Integer>
void divide_integers(std::span<std::byte> target, std::uint32_t divisor) {
  const std::int64_t by = divisor;
  for (std::size_t at = 0; at < target.size(); at += sizeof(Integer)) {
    Integer value = 0;
    std::memcpy(&value, &target[at], sizeof value);
    const auto wide = static_cast<std::int64_t>(value);
    const std::int64_t towards_zero = wide / by;
    value = static_cast<Integer>(wide % by < 0 ? towards_zero - 1 : towards_zero);
    std::memcpy(&target[at], &value, sizeof value);
  }
}

}  // namespace

std::string_view name_of(Level level) {
  switch (level) {
    case Level::kPortable:
      return "portable";
    case Level::kAvx2:
      return "avx2";
    case Level::kAvx512:
      return "avx512";
  }
  return "unknown";
}

Level best_level() {
  static const Level kBest = processor_level();
  return kBest;
}

const Kernels& kernels_of(Level level) {
  STRETTO_CHECK(level <= best_level());
  if (level == Level::kPortable) return portable_kernels();
  return level == Level::kAvx2 ? avx2_kernels() : avx512_kernels();
}

void sum_into(Dtype dtype, std::span<std::byte> target, std::span<const std::byte> source) {
  sum_to(best_level(), dtype, target, target, source);
}

void sum_into(Level level, Dtype dtype, std::span<std::byte> target,
              std::span<const std::byte> source) {
  sum_to(level, dtype, target, target, source);
}

void sum_to(Dtype dtype, std::span<std::byte> out, std::span<const std::byte> a,
            std::span<const std::byte> b) {
  sum_to(best_level(), dtype, out, a, b);
}

void sum_to(Level level, Dtype dtype, std::span<std::byte> out, std::span<const std::byte> a,
            std::span<const std::byte> b) {
  const Kernels::Sum sum = sum_of(kernels_of(level), dtype);
  STRETTO_CHECK(sum != nullptr);
  STRETTO_CHECK(out.size() % bytes_of(dtype) == 0);
  STRETTO_CHECK(a.size() == out.size() && b.size() == out.size());
  sum(out.data(), a.data(), b.data(), out.size());
}

void divide(Dtype dtype, std::span<std::byte> target, std::uint32_t divisor) {
  STRETTO_CHECK(divisor > 0);
  STRETTO_CHECK(bytes_of(dtype) != 0 && target.size() % bytes_of(dtype) == 0);
  switch (dtype) {
    case Dtype::kF64:
      return divide_floating<double>(dtype, target, divisor);
    case Dtype::kF32:
    case Dtype::kF16:
    case Dtype::kBf16:
      return divide_floating<float>(dtype, target, divisor);
    case Dtype::kI8:
      return divide_integers<std::int8_t>(target, divisor);
    case Dtype::kU8:
      return divide_integers<std::uint8_t>(target, divisor);
    case Dtype::kI32:
      return divide_integers<std::int32_t>(target, divisor);
    case Dtype::kI64:
      return divide_integers<std::int64_t>(target, divisor);
  }
}

}  // namespace stretto::ops

// SPDX-License-Identifier: Apache-2.0
// Chooses the kernel of a reduction, and divides. Division runs once per round, not once per
// contribution, so it has no kernels.
#include "ops/sum.h"

#include <cstring>

#include "common/check.h"
#include "ops/convert.h"
#include "ops/kernels.h"

namespace stretto::ops {

namespace {

const Kernels::ByDtype& kernels_for(const Kernels& kernels, ReduceOp reduction) {
  switch (reduction) {
    case ReduceOp::kSum:
    case ReduceOp::kAverage:
      return kernels.sum;
    case ReduceOp::kMin:
      return kernels.min;
    case ReduceOp::kMax:
      return kernels.max;
    case ReduceOp::kProduct:
      return kernels.product;
    case ReduceOp::kAnd:
      return kernels.bit_and;
    case ReduceOp::kOr:
      return kernels.bit_or;
    case ReduceOp::kXor:
      return kernels.bit_xor;
  }
  STRETTO_CHECK(false);
}

/// Null for an invalid Dtype, and for a type without this reduction.
Kernels::Reduce kernel_for(const Kernels::ByDtype& kernels, Dtype dtype) {
  switch (dtype) {
    case Dtype::kF32:
      return kernels.f32;
    case Dtype::kF64:
      return kernels.f64;
    case Dtype::kF16:
      return kernels.f16;
    case Dtype::kBf16:
      return kernels.bf16;
    case Dtype::kI8:
      return kernels.i8;
    case Dtype::kU8:
      return kernels.u8;
    case Dtype::kI32:
      return kernels.i32;
    case Dtype::kI64:
      return kernels.i64;
  }
  return nullptr;
}

struct Operands {
  std::span<const std::byte> a, b;
};

void reduce(const Kernels::ByDtype& kernels, Dtype dtype, std::span<std::byte> out,
            const Operands& in) {
  const Kernels::Reduce reduce = kernel_for(kernels, dtype);
  STRETTO_CHECK(reduce != nullptr);
  STRETTO_CHECK(out.size() % bytes_of(dtype) == 0);
  STRETTO_CHECK(in.a.size() == out.size() && in.b.size() == out.size());
  reduce(out.data(), in.a.data(), in.b.data(), out.size());
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

bool is_defined(ReduceOp op, Dtype dtype) {
  return kernel_for(kernels_for(portable_kernels(), op), dtype) != nullptr;
}

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
  reduce(kernels_of(level).sum, dtype, out, {a, b});
}

void reduce_into(ReduceOp reduction, Dtype dtype, std::span<std::byte> target,
                 std::span<const std::byte> source) {
  reduce_into(best_level(), reduction, dtype, target, source);
}

void reduce_into(Level level, ReduceOp reduction, Dtype dtype, std::span<std::byte> target,
                 std::span<const std::byte> source) {
  reduce(kernels_for(kernels_of(level), reduction), dtype, target, {target, source});
}

void finish(ReduceOp op, Dtype dtype, std::span<std::byte> target, std::uint32_t contributors) {
  if (op == ReduceOp::kAverage) divide(dtype, target, contributors);
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

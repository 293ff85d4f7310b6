// SPDX-License-Identifier: Apache-2.0
// The table of inner loops of codecs, one for each processor level. Private to ops/; codec.h is the
// interface. Every level gives the same bits. Numbers are f32; bytes of the wire need no alignment.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ops/sum.h"

namespace stretto::ops {

inline constexpr std::uint32_t kInfinite = 0x7f800000;  // The bits of Inf; NaNs have greater bits.
/// Elements that share a scale in int8, and that a kernel processes at once.
inline constexpr std::size_t kBlock = 256;

/// The seed of all randomness: two words that are hashed with the index of an element.
struct Chance {
  std::uint32_t first = 0;
  std::uint32_t second = 0;
};

/// The parameters of the dithering kernels: y = |x| * inverse_norm is from 0 to 1.
struct Dither {
  float inverse_norm = 0;
  std::uint32_t levels = 1;
  Chance chance;
};

/// The kernels of one level. `n` counts elements; outputs overlap no inputs unless noted.
struct CodecKernels {
  /// The sum of |x| and of x squared, in double, in an order that all levels share.
  double (*sum_sizes)(const float* in, std::size_t n);
  double (*sum_squares)(const float* in, std::size_t n);
  /// The bits of the largest |x|; NaN counts as the largest.
  std::uint32_t (*largest)(const float* in, std::size_t n);

  /// The sign bits of 16 elements, the first one lowest.
  void (*signs)(std::byte* out, const float* in, std::size_t n);
  /// `size` with each sign; n is a multiple of 32 except in the last call.
  void (*from_signs)(float* out, const std::byte* in, float size, std::size_t n);

  /// One block: rounds x * inverse to the nearest of -127 to 127.
  void (*quantize)(std::byte* out, const float* in, float inverse, std::size_t n);
  void (*dequantize)(float* out, const std::byte* in, float scale, std::size_t n);

  /// Signed levels; the hash of first + i is the random number of element i.
  void (*dither_linear)(std::int8_t* out, const float* in, const Dither& how, std::size_t first,
                        std::size_t n);
  void (*dither_natural)(std::int8_t* out, const float* in, const Dither& how, std::size_t first,
                         std::size_t n);
  void (*from_linear)(float* out, const std::int8_t* in, float norm, std::uint32_t levels,
                      std::size_t n);
  void (*from_natural)(float* out, const std::int8_t* in, float norm, std::uint32_t levels,
                       std::size_t n);

  /// Signed levels in 2, 4 or 8 bits each, the first one lowest; and back.
  void (*pack)(std::byte* out, const std::int8_t* in, unsigned bits, std::size_t n);
  void (*unpack)(std::int8_t* out, const std::byte* in, unsigned bits, std::size_t n);

  /// target -= taken.
  void (*subtract)(float* target, const float* taken, std::size_t n);
  /// memory = mu * memory + in; out = in + mu * memory (Nesterov). `out` may be `in`.
  void (*nesterov)(float* out, float* memory, const float* in, float mu, std::size_t n);

  /// Adds to counts[bits of |x| >> 20], 2,048 of them.
  void (*count_sizes)(std::uint32_t* counts, const float* in, std::size_t n);
  /// Writes the ascending indices of elements whose bits of |x| are at least `least`, and returns
  /// their number. `out` has room for n + 16.
  std::size_t (*places_from)(std::uint32_t* out, const float* in, std::uint32_t least,
                             std::size_t n);
};

const CodecKernels& portable_codec_kernels();
const CodecKernels& avx2_codec_kernels();
const CodecKernels& avx512_codec_kernels();
/// The table of `level`, which must not be above best_level().
const CodecKernels& codec_kernels_of(Level level);

}  // namespace stretto::ops

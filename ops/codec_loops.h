// SPDX-License-Identifier: Apache-2.0
// The loops of codec_kernels.h, written once and compiled for each level with its flags: plain
// loops that the compiler vectorises. Every level sums in 16 lanes, so that sums have the same
// bits. As in vector_kernels.h a level names its Machine in an unnamed namespace, and nothing here
// calls inline functions of the standard library.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "ops/codec_kernels.h"
#include "ops/dense_loops.h"
#include "ops/dither_loops.h"

namespace stretto::ops {

/// Machine::places writes the indices of large elements among 16.
template <class Machine>
class SparseLoops : FloatBits<Machine> {
 public:
  /// Alternates four tables: neighbours often have one size, so a single counter would stall.
  static void count_sizes(std::uint32_t* counts, const float* in, std::size_t n) {
    constexpr std::size_t kBins = 2048;
    std::uint32_t tables[4][kBins] = {};
    std::size_t i = 0;
    for (; i + 4 <= n; i += 4) {
      for (std::size_t t = 0; t < 4; ++t) ++tables[t][(bits_of(in[i + t]) & kMagnitude) >> 20];
    }
    for (; i < n; ++i) ++tables[0][(bits_of(in[i]) & kMagnitude) >> 20];
    for (const auto& table : tables) {
      for (std::size_t bin = 0; bin < kBins; ++bin) counts[bin] += table[bin];
    }
  }

  static std::size_t places_from(std::uint32_t* out, const float* in, std::uint32_t least,
                                 std::size_t n) {
    std::size_t found = 0;
    std::size_t i = 0;
    for (; i + kLanes <= n; i += kLanes) {
      found += Machine::places(out + found, in + i, least, static_cast<std::uint32_t>(i));
    }
    for (; i < n; ++i) {
      out[found] = static_cast<std::uint32_t>(i);
      found += (bits_of(in[i]) & kMagnitude) >= least ? 1 : 0;
    }
    return found;
  }

 private:
  using FloatBits<Machine>::bits_of;
  using FloatBits<Machine>::kLanes;
  using FloatBits<Machine>::kMagnitude;
};

/// Machine defines how to gather signs and write indices:
///   uint16 signs(const float* of 16);  size_t places(uint32* out, const float* of 16, uint32
///   least, uint32 first)
template <class Machine>
class CodecLoops {
  using Dense = DenseLoops<Machine>;
  using Dithers = DitherLoops<Machine>;
  using Packing = LevelPacking<Machine>;
  using Sparse = SparseLoops<Machine>;

 public:
  static constexpr CodecKernels table() {
    return {.sum_sizes = Dense::sum_sizes,
            .sum_squares = Dense::sum_squares,
            .largest = Dense::largest,
            .signs = Dense::signs,
            .from_signs = Dense::from_signs,
            .quantize = Dense::quantize,
            .dequantize = Dense::dequantize,
            .dither_linear = Dithers::dither_linear,
            .dither_natural = Dithers::dither_natural,
            .from_linear = Dithers::from_linear,
            .from_natural = Dithers::from_natural,
            .pack = Packing::pack,
            .unpack = Packing::unpack,
            .subtract = Dense::subtract,
            .nesterov = Dense::nesterov,
            .count_sizes = Sparse::count_sizes,
            .places_from = Sparse::places_from};
  }
};

}  // namespace stretto::ops

// SPDX-License-Identifier: Apache-2.0
// Dithering: rounds each element randomly up or down to one of a few levels, so that its expected
// value is the element. A part is an f32 norm, then signed levels of 2, 4 or 8 bits, the first
// level lowest. (BytePS packs levels with Elias' delta code. It is shorter if most levels are 0,
// but has variable length and needs bitwise decoding; fixed widths run at memory speed.)
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "ops/codec_parts.h"

namespace stretto::ops {

namespace {

float norm_of(const CodecSpec& spec, std::span<const float> numbers, const CodecKernels& kernels) {
  if (spec.norm == DitherNorm::kMax) {
    return std::bit_cast<float>(kernels.largest(numbers.data(), numbers.size()));
  }
  double sum = 0;
  for (std::size_t first = 0; first < numbers.size(); first += kTile) {
    const auto tile = numbers.subspan(first, std::min(kTile, numbers.size() - first));
    sum += kernels.sum_squares(tile.data(), tile.size());
  }
  // The norm of finite numbers may exceed f32. Any norm serves that is not below the largest
  // number; with NaN or Inf among the numbers, the norm may be NaN or Inf, too.
  constexpr double kLargest = std::numeric_limits<float>::max();
  const double norm = std::sqrt(sum);
  return static_cast<float>(std::isfinite(norm) ? std::min(norm, kLargest) : norm);
}

}  // namespace

void encode_dithering(const CodecSpec& spec, std::span<const float> numbers, const Encoding& how,
                      std::span<std::byte> out) {
  const CodecKernels& kernels = codec_kernels_of(how.level);
  float norm = norm_of(spec, numbers, kernels);
  if (norm < kNothing) norm = 0;
  write(out, 0, norm);
  const Dither dither{.inverse_norm = norm == 0 ? 0 : 1 / norm,
                      .levels = static_cast<std::uint32_t>(spec.k),
                      .chance = chance_of_stream(how.stream)};
  const auto run =
      spec.levels == DitherLevels::kLinear ? kernels.dither_linear : kernels.dither_natural;
  const unsigned bits = dither_bits(spec);
  std::array<std::int8_t, kTile> levels;
  for (std::size_t first = 0; first < numbers.size(); first += kTile) {
    const auto tile = numbers.subspan(first, std::min(kTile, numbers.size() - first));
    run(levels.data(), tile.data(), dither, first, tile.size());
    kernels.pack(&out[sizeof(float) + first * bits / 8], levels.data(), bits, tile.size());
  }
}

void decode_dithering(const CodecSpec& spec, std::span<const std::byte> in, std::span<float> target,
                      Then then, Level level) {
  const CodecKernels& kernels = codec_kernels_of(level);
  const auto norm = read<float>(in, 0);
  const auto most = static_cast<std::uint32_t>(spec.k);
  const auto run =
      spec.levels == DitherLevels::kLinear ? kernels.from_linear : kernels.from_natural;
  const unsigned bits = dither_bits(spec);
  std::array<std::int8_t, kTile> levels;
  decode_tiles(target, then, level, [&](std::size_t first, std::span<float> out) {
    kernels.unpack(levels.data(), in.data() + sizeof(float) + first * bits / 8, bits, out.size());
    run(out.data(), levels.data(), norm, most, out.size());
  });
}

}  // namespace stretto::ops

// SPDX-License-Identifier: Apache-2.0
// Deterministic codecs that keep every element in fewer bits: fp16, bf16, int8 and onebit.
#include <algorithm>
#include <bit>
#include <limits>

#include "ops/codec_parts.h"

namespace stretto::ops {

namespace {

constexpr float kInt8Levels = 127;

}  // namespace

// ---- fp16 and bf16: the elements, narrower

void encode_halves(Codec codec, std::span<const float> numbers, Level level,
                   std::span<std::byte> out) {
  const Kernels& kernels = kernels_of(level);
  const auto narrow = codec == Codec::kFp16 ? kernels.narrow_f16 : kernels.narrow_bf16;
  narrow(out.data(), std::as_bytes(numbers).data(), out.size());
}

void decode_halves(Codec codec, std::span<const std::byte> in, std::span<float> target, Then then,
                   Level level) {
  const Kernels& kernels = kernels_of(level);
  const auto widen = codec == Codec::kFp16 ? kernels.widen_f16 : kernels.widen_bf16;
  decode_tiles(target, then, level, [&](std::size_t first, std::span<float> out) {
    widen(std::as_writable_bytes(out).data(), in.data() + first * 2, out.size_bytes());
  });
}

// ---- int8: an f32 scale for each block, then a byte for each element

void encode_int8(std::span<const float> numbers, Level level, std::span<std::byte> out) {
  const CodecKernels& kernels = codec_kernels_of(level);
  std::byte* const bytes = out.data() + blocks_of(numbers.size()) * sizeof(float);
  for (std::size_t first = 0; first < numbers.size(); first += kBlock) {
    const auto block = numbers.subspan(first, std::min(kBlock, numbers.size() - first));
    const auto most = std::bit_cast<float>(kernels.largest(block.data(), block.size()));
    const bool nothing = most < kNothing;
    write(out, first / kBlock * sizeof(float), nothing ? 0 : most / kInt8Levels);
    kernels.quantize(bytes + first, block.data(), nothing ? 0 : kInt8Levels / most, block.size());
  }
}

void decode_int8(std::span<const std::byte> in, std::span<float> target, Then then, Level level) {
  const CodecKernels& kernels = codec_kernels_of(level);
  const std::byte* const bytes = in.data() + blocks_of(target.size()) * sizeof(float);
  decode_tiles(target, then, level, [&](std::size_t first, std::span<float> out) {
    for (std::size_t at = 0; at < out.size(); at += kBlock) {
      const auto scale = read<float>(in, (first + at) / kBlock * sizeof(float));
      const std::size_t count = std::min(kBlock, out.size() - at);
      kernels.dequantize(&out[at], bytes + first + at, scale, count);
    }
  });
}

// ---- onebit: an f32 size for all, then the sign bits

void encode_onebit(const CodecSpec& spec, std::span<const float> numbers, Level level,
                   std::span<std::byte> out) {
  const CodecKernels& kernels = codec_kernels_of(level);
  double sum = 0;
  std::uint32_t most = 0;
  for (std::size_t first = 0; first < numbers.size(); first += kTile) {  // Signs and sizes at once.
    const auto tile = numbers.subspan(first, std::min(kTile, numbers.size() - first));
    kernels.signs(out.data() + sizeof(float) + first / 8, tile.data(), tile.size());
    if (spec.scaling) {
      sum += kernels.sum_sizes(tile.data(), tile.size());
    } else {
      most = std::max(most, kernels.largest(tile.data(), tile.size()));
    }
  }
  const double mean = numbers.empty() ? 0 : sum / static_cast<double>(numbers.size());
  const float one = most < kInfinite ? 1.0F : std::numeric_limits<float>::quiet_NaN();
  write(out, 0, spec.scaling ? static_cast<float>(mean) : one);
}

void decode_onebit(std::span<const std::byte> in, std::span<float> target, Then then, Level level) {
  const CodecKernels& kernels = codec_kernels_of(level);
  const auto size = read<float>(in, 0);
  decode_tiles(target, then, level, [&](std::size_t first, std::span<float> out) {
    kernels.from_signs(out.data(), in.data() + sizeof(float) + first / 8, size, out.size());
  });
}

}  // namespace stretto::ops

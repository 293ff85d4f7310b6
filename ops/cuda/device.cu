// SPDX-License-Identifier: Apache-2.0
// The kernels. Their arithmetic follows ops/codec_loops.h, operation by operation (nvcc must not
// fuse multiplications and additions: -fmad=false); sums use the same 16 lanes.
#include <cuda_runtime.h>

#include <algorithm>
#include <string>

#include "ops/cuda/device.h"
#include "ops/half.h"

namespace stretto::ops::cuda {
namespace {

constexpr unsigned kThreads = 256;
constexpr std::size_t kTile = 1024;
constexpr std::size_t kMostBlocks = 1 << 16;
constexpr std::uint32_t kMagnitude = 0x7fffffff;
constexpr float kNothing = 0x1p-100F;

unsigned blocks_for(std::size_t threads) {
  const std::size_t blocks = (threads + kThreads - 1) / kThreads;
  return static_cast<unsigned>(std::clamp<std::size_t>(blocks, 1, kMostBlocks));
}

cudaStream_t of(Stream stream) { return static_cast<cudaStream_t>(stream); }

Status outcome(cudaError_t error) {
  if (error == cudaSuccess) return {};
  return {Code::kInvalidArgument, std::string("CUDA: ") + cudaGetErrorString(error)};
}

Status check(const Shape& shape) {
  if (shape.part_elements != 0 && shape.part_elements % kTile == 0) return {};
  return {Code::kInvalidArgument, "part_elements is " + std::to_string(shape.part_elements) +
                                      ", wanted a multiple of 1024"};
}

__device__ std::size_t first_index() {
  return blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x;
}
__device__ std::size_t all_threads() { return static_cast<std::size_t>(gridDim.x) * blockDim.x; }

// ---- sums and conversions

__global__ void sum_kernel(float* target, const float* source, std::size_t elements) {
  const std::size_t fours = elements / 4;
  auto* wide_target = reinterpret_cast<float4*>(target);
  const auto* wide_source = reinterpret_cast<const float4*>(source);
  for (std::size_t i = first_index(); i < fours; i += all_threads()) {
    float4 a = wide_target[i];
    const float4 b = wide_source[i];
    a.x += b.x;
    a.y += b.y;
    a.z += b.z;
    a.w += b.w;
    wide_target[i] = a;
  }
  for (std::size_t i = fours * 4 + first_index(); i < elements; i += all_threads()) {
    target[i] += source[i];
  }
}

__device__ std::uint16_t to_bf16(float value) {
  const std::uint32_t bits = __float_as_uint(value);
  const std::uint32_t nearest = bits + 0x7fffU + ((bits >> 16) & 1U);
  return static_cast<std::uint16_t>((value == value ? nearest : bits | 0x00400000U) >> 16);
}

template <bool half>
__global__ void narrow_kernel(std::uint16_t* out, const float* in, std::size_t elements) {
  for (std::size_t i = first_index(); i < elements; i += all_threads()) {
    out[i] = half ? narrow_to_half(in[i]) : to_bf16(in[i]);
  }
}

template <bool half>
__global__ void widen_kernel(float* out, const std::uint16_t* in, std::size_t elements) {
  for (std::size_t i = first_index(); i < elements; i += all_threads()) {
    out[i] = half ? widen_half(in[i]) : __uint_as_float(std::uint32_t{in[i]} << 16);
  }
}

// ---- onebit

/// One warp per tile: a word of signs for each 32 elements, and the sum of sizes in 16 lanes.
__global__ void onebit_tiles(Shape shape, std::size_t stride, const float* in, std::byte* out,
                             double* sums) {
  const std::size_t tiles_a_part = shape.part_elements / kTile;
  const std::size_t tiles = (shape.elements + kTile - 1) / kTile;
  const unsigned lane = threadIdx.x % 32;
  for (std::size_t tile = first_index() / 32; tile < tiles; tile += all_threads() / 32) {
    const std::size_t part = tile / tiles_a_part;
    std::byte* const words = out + part * stride + sizeof(float);
    double sum = 0;
    for (unsigned step = 0; step < kTile / 32; ++step) {
      const std::size_t index = tile * kTile + step * 32 + lane;
      const float value = index < shape.elements ? in[index] : 0.0F;
      const std::uint32_t bits = __float_as_uint(value);
      const unsigned word = __ballot_sync(0xffffffffU, (bits >> 31) != 0);
      const double size = static_cast<double>(__uint_as_float(bits & kMagnitude));
      sum += size;
      sum += __shfl_down_sync(0xffffffffU, size, 16);  // Valid in the lower 16 lanes.
      const std::size_t place = (index - lane - part * shape.part_elements) / 8;
      if (lane == 0 && index < shape.elements) {
        *reinterpret_cast<std::uint32_t*>(words + place) = word;
      }
    }
    double total = 0;
    for (int from = 0; from < 16; ++from) total += __shfl_sync(0xffffffffU, sum, from);
    if (lane == 0) sums[tile] = total;
  }
}

/// One thread per part adds tiles in the CPU's order.
__global__ void onebit_sizes(Shape shape, std::size_t stride, bool scaling, std::byte* out,
                             const double* sums) {
  const std::size_t tiles_a_part = shape.part_elements / kTile;
  for (std::size_t part = first_index(); part < shape.parts(); part += all_threads()) {
    const std::size_t first = part * shape.part_elements;
    const std::size_t count = min(shape.part_elements, shape.elements - first);
    double sum = 0;
    for (std::size_t i = 0; i < (count + kTile - 1) / kTile; ++i) {
      sum += sums[part * tiles_a_part + i];
    }
    const auto mean = static_cast<float>(sum / static_cast<double>(count));
    *reinterpret_cast<float*>(out + part * stride) = scaling ? mean : 1.0F;
  }
}

__global__ void onebit_add(Shape shape, std::size_t stride, const std::byte* in, float* target) {
  for (std::size_t i = first_index(); i < shape.elements; i += all_threads()) {
    const std::size_t part = i / shape.part_elements;
    const std::size_t inside = i - part * shape.part_elements;
    const std::byte* const from = in + part * stride;
    const std::uint32_t size = *reinterpret_cast<const std::uint32_t*>(from);
    const std::uint32_t word =
        reinterpret_cast<const std::uint32_t*>(from + sizeof(float))[inside / 32];
    target[i] += __uint_as_float(size ^ ((word << (31 - inside % 32)) & 0x80000000U));
  }
}

// ---- dithering

struct DitherShape {
  std::size_t stride;
  std::uint32_t levels;
  unsigned bits;
  bool natural;
};

/// Writes the bits of each part's largest size to its norm. The caller has cleared the norms.
__global__ void largest_sizes(Shape shape, std::size_t stride, const float* in, std::byte* out) {
  const std::size_t tiles = (shape.elements + kTile - 1) / kTile;
  for (std::size_t tile = first_index() / 32; tile < tiles; tile += all_threads() / 32) {
    std::uint32_t most = 0;
    for (unsigned step = 0; step < kTile / 32; ++step) {
      const std::size_t index = tile * kTile + step * 32 + threadIdx.x % 32;
      const std::uint32_t size =
          index < shape.elements ? __float_as_uint(in[index]) & kMagnitude : 0;
      most = max(most, size);
    }
    for (int by = 16; by > 0; by /= 2) most = max(most, __shfl_xor_sync(0xffffffffU, most, by));
    const std::size_t part = tile / (shape.part_elements / kTile);
    if (threadIdx.x % 32 == 0) atomicMax(reinterpret_cast<unsigned*>(out + part * stride), most);
  }
}

__device__ std::uint32_t chance_of(std::uint64_t stream, std::uint32_t index) {
  std::uint32_t x = index * 0x9e3779b9U + static_cast<std::uint32_t>(stream);
  x ^= x >> 16;
  x *= 0x7feb352dU;
  x ^= (x >> 15) ^ static_cast<std::uint32_t>(stream >> 32);
  x *= 0x846ca68bU;
  return x ^ (x >> 16);
}

__device__ std::uint32_t linear_level(float size, std::uint32_t chance, std::uint32_t levels) {
  const auto most = static_cast<float>(levels);
  const float raised = size * most + static_cast<float>(chance >> 8) * 0x1p-24F;
  return static_cast<std::uint32_t>(raised < most ? raised : most);
}

__device__ std::uint32_t natural_level(float raw, std::uint32_t chance, std::uint32_t levels) {
  const std::uint32_t below = 127 - levels;
  const float least = __uint_as_float((below + 1) << 23);
  const float size = raw < 1.0F ? raw : 1.0F;
  const std::uint32_t random = chance >> 9;
  const float part = static_cast<float>(random) * 0x1p-23F * least;
  if (size < least) return part < size ? 1 : 0;
  return min(((__float_as_uint(size) + random) >> 23) - below, levels);
}

/// One thread per byte of levels.
__global__ void dither_kernel(Shape shape, DitherShape how, const std::uint64_t* streams,
                              const float* in, std::byte* out) {
  const std::size_t each = 8 / how.bits;
  const std::size_t bytes = (shape.elements + each - 1) / each;
  for (std::size_t i = first_index(); i < bytes; i += all_threads()) {
    const std::size_t first = i * each;
    const std::size_t part = first / shape.part_elements;
    const std::size_t inside = first - part * shape.part_elements;
    std::byte* const to = out + part * how.stride;
    const float found = *reinterpret_cast<const float*>(to);
    const float inverse = found < kNothing ? 0 : 1 / found;
    unsigned byte = 0;
    for (std::size_t j = 0; j < each && first + j < shape.elements; ++j) {
      const std::uint32_t bits = __float_as_uint(in[first + j]);
      const std::uint32_t chance = chance_of(streams[part], static_cast<std::uint32_t>(inside + j));
      const float size = __uint_as_float(bits & kMagnitude) * inverse;
      const std::uint32_t level = how.natural ? natural_level(size, chance, how.levels)
                                              : linear_level(size, chance, how.levels);
      const std::uint32_t value = (bits >> 31) != 0 ? 0U - level : level;
      byte |= (value & ((1U << how.bits) - 1)) << (j * how.bits);
    }
    to[sizeof(float) + inside / each] = static_cast<std::byte>(byte);
  }
}

/// Sets norms below kNothing to 0.
__global__ void clear_small_norms(Shape shape, std::size_t stride, std::byte* out) {
  for (std::size_t part = first_index(); part < shape.parts(); part += all_threads()) {
    auto* norm = reinterpret_cast<float*>(out + part * stride);
    if (*norm < kNothing) *norm = 0;
  }
}

__global__ void dither_add(Shape shape, DitherShape how, const std::byte* in, float* target) {
  const std::size_t each = 8 / how.bits;
  const auto most = static_cast<std::int32_t>(how.levels);
  for (std::size_t i = first_index(); i < shape.elements; i += all_threads()) {
    const std::size_t part = i / shape.part_elements;
    const std::size_t inside = i - part * shape.part_elements;
    const std::byte* const from = in + part * how.stride;
    const float norm = *reinterpret_cast<const float*>(from);
    const auto byte = static_cast<unsigned>(from[sizeof(float) + inside / each]);
    const auto raised =
        static_cast<std::uint32_t>(byte << (32 - how.bits - inside % each * how.bits));
    const std::int32_t signed_level = static_cast<std::int32_t>(raised) >> (32 - how.bits);
    const std::int32_t level = max(-most, min(signed_level, most));
    if (!how.natural) {
      target[i] += static_cast<float>(level) * (norm / static_cast<float>(how.levels));
      continue;
    }
    const auto size = static_cast<std::uint32_t>(level < 0 ? -level : level);
    const std::uint32_t bits = size == 0 ? 0 : (size + 127 - how.levels) << 23;
    target[i] += __uint_as_float(bits | (signed_level < 0 ? 0x80000000U : 0)) * norm;
  }
}

DitherShape dither_of(const CodecSpec& spec, const Shape& shape) {
  const unsigned bits = spec.k <= 1 ? 2 : spec.k <= 7 ? 4 : 8;
  return {.stride = sizeof(float) + shape.part_elements * bits / 8,
          .levels = static_cast<std::uint32_t>(spec.k),
          .bits = bits,
          .natural = spec.levels == DitherLevels::kNatural};
}

}  // namespace

Status sum(float* target, const float* source, std::size_t elements, Stream stream) {
  sum_kernel<<<blocks_for(elements / 4 + 1), kThreads, 0, of(stream)>>>(target, source, elements);
  return outcome(cudaGetLastError());
}

Status narrow(Codec codec, std::uint16_t* out, const float* in, std::size_t elements,
              Stream stream) {
  const auto kernel = codec == Codec::kFp16 ? narrow_kernel<true> : narrow_kernel<false>;
  kernel<<<blocks_for(elements), kThreads, 0, of(stream)>>>(out, in, elements);
  return outcome(cudaGetLastError());
}

Status widen(Codec codec, float* out, const std::uint16_t* in, std::size_t elements,
             Stream stream) {
  const auto kernel = codec == Codec::kFp16 ? widen_kernel<true> : widen_kernel<false>;
  kernel<<<blocks_for(elements), kThreads, 0, of(stream)>>>(out, in, elements);
  return outcome(cudaGetLastError());
}

std::size_t onebit_stride(const Shape& shape) { return sizeof(float) + shape.part_elements / 8; }

Status encode_onebit(const Shape& shape, bool scaling, const float* in, std::byte* out,
                     double* sums, Stream stream) {
  if (Status status = check(shape); !status.ok()) return status;
  const std::size_t stride = onebit_stride(shape);
  const std::size_t tiles = (shape.elements + kTile - 1) / kTile;
  onebit_tiles<<<blocks_for(tiles * 32), kThreads, 0, of(stream)>>>(shape, stride, in, out, sums);
  onebit_sizes<<<blocks_for(shape.parts()), kThreads, 0, of(stream)>>>(shape, stride, scaling, out,
                                                                       sums);
  return outcome(cudaGetLastError());
}

Status decode_add_onebit(const Shape& shape, const std::byte* in, float* target, Stream stream) {
  if (Status status = check(shape); !status.ok()) return status;
  onebit_add<<<blocks_for(shape.elements), kThreads, 0, of(stream)>>>(shape, onebit_stride(shape),
                                                                      in, target);
  return outcome(cudaGetLastError());
}

std::size_t dithering_stride(const CodecSpec& spec, const Shape& shape) {
  return dither_of(spec, shape).stride;
}

Status encode_dithering(const CodecSpec& spec, const Shape& shape, const std::uint64_t* streams,
                        const float* in, std::byte* out, Stream stream) {
  if (Status status = check(shape); !status.ok()) return status;
  if (spec.norm != DitherNorm::kMax) {
    return {Code::kUnsupported, "dithering by the l2 norm is for the CPU; use normalize=max"};
  }
  const DitherShape how = dither_of(spec, shape);
  const cudaError_t cleared =
      cudaMemset2DAsync(out, how.stride, 0, sizeof(float), shape.parts(), of(stream));
  if (cleared != cudaSuccess) return outcome(cleared);
  const std::size_t tiles = (shape.elements + kTile - 1) / kTile;
  largest_sizes<<<blocks_for(tiles * 32), kThreads, 0, of(stream)>>>(shape, how.stride, in, out);
  dither_kernel<<<blocks_for(shape.elements / 2), kThreads, 0, of(stream)>>>(shape, how, streams,
                                                                             in, out);
  clear_small_norms<<<blocks_for(shape.parts()), kThreads, 0, of(stream)>>>(shape, how.stride, out);
  return outcome(cudaGetLastError());
}

Status decode_add_dithering(const CodecSpec& spec, const Shape& shape, const std::byte* in,
                            float* target, Stream stream) {
  if (Status status = check(shape); !status.ok()) return status;
  dither_add<<<blocks_for(shape.elements), kThreads, 0, of(stream)>>>(shape, dither_of(spec, shape),
                                                                      in, target);
  return outcome(cudaGetLastError());
}

Status to_host(void* host, const void* device, std::size_t bytes, Stream stream) {
  return outcome(cudaMemcpyAsync(host, device, bytes, cudaMemcpyDeviceToHost, of(stream)));
}

Status to_device(void* device, const void* host, std::size_t bytes, Stream stream) {
  return outcome(cudaMemcpyAsync(device, host, bytes, cudaMemcpyHostToDevice, of(stream)));
}

}  // namespace stretto::ops::cuda

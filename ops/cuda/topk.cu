// SPDX-License-Identifier: Apache-2.0
// The k largest of each part, as ops/codec_sparse.cc chooses them: by the bits of |x|, the first of
// equals, places ascending. One block per part counts sizes in three passes of 11, 10 and 10 bits.
// That gives the least kept size; then the block gathers in order.
#include <cuda_runtime.h>

#include <algorithm>
#include <string>

#include "ops/codec.h"
#include "ops/cuda/device.h"

namespace stretto::ops::cuda {
namespace {

constexpr unsigned kThreads = 256;
constexpr unsigned kWarps = kThreads / 32;
constexpr unsigned kBins = 2048;
constexpr std::size_t kTile = 1024;
constexpr std::size_t kMostBlocks = 1 << 16;
constexpr std::uint32_t kMagnitude = 0x7fffffff;

/// How much of a part is kept. A part that encoding would enlarge is copied (plain).
struct Kept {
  std::uint32_t elements = 0;
  bool plain = false;
};
/// All parts but the last are alike.
struct Choice {
  std::size_t stride = 0;
  Kept whole;
  Kept last;
};

Kept kept_of_part(const CodecSpec& spec, std::size_t count) {
  return {static_cast<std::uint32_t>(kept_of(spec, count)), is_plain(spec, count)};
}

Choice choice_of(const CodecSpec& spec, const Shape& shape) {
  if (shape.part_elements == 0) return {};  // check() refuses it.
  const std::size_t rest = shape.elements % shape.part_elements;
  return {.stride = encoded_bytes(spec, shape.part_elements),
          .whole = kept_of_part(spec, shape.part_elements),
          .last = kept_of_part(spec, rest == 0 ? shape.part_elements : rest)};
}

Status check(const CodecSpec& spec, const Shape& shape) {
  if (spec.codec != Codec::kTopk) {
    return {Code::kInvalidArgument,
            "codec is " + std::string(name_of(spec.codec)) + ", wanted topk"};
  }
  constexpr std::size_t kMost = std::size_t{1} << 31;
  const std::size_t part = shape.part_elements;
  if (part != 0 && part % kTile == 0 && part <= kMost) return {};
  return {Code::kInvalidArgument, "part_elements is " + std::to_string(shape.part_elements) +
                                      ", wanted a multiple of 1024 up to 2^31"};
}

Status outcome(cudaError_t error) {
  if (error == cudaSuccess) return {};
  return {Code::kInvalidArgument, std::string("CUDA: ") + cudaGetErrorString(error)};
}

__device__ std::uint32_t size_of(float number) { return __float_as_uint(number) & kMagnitude; }

/// The shared memory of a block.
struct Workspace {
  unsigned counts[kBins];
  unsigned sums[kThreads];
  unsigned warps[kWarps];
  unsigned bin;
  unsigned remaining;
};

/// Finds, from the highest bin down, the bin of the `wanted`-th largest, and how many of it count.
__device__ void find_bin(Workspace& work, unsigned bins, unsigned wanted) {
  const unsigned each = bins / kThreads;
  unsigned sum = 0;
  for (unsigned i = 0; i < each; ++i) sum += work.counts[threadIdx.x * each + i];
  work.sums[threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.x == 0) {
    unsigned group = kThreads - 1;
    for (; work.sums[group] < wanted; --group) wanted -= work.sums[group];
    unsigned bin = (group + 1) * each - 1;
    for (; work.counts[bin] < wanted; --bin) wanted -= work.counts[bin];
    work.bin = bin;
    work.remaining = wanted;
  }
  __syncthreads();
}

/// The `kept`-th largest size; work.remaining is how many of that size are kept. `kept` is at least
/// 1 and at most `count`.
__device__ std::uint32_t least_kept(Workspace& work, const float* in, std::uint32_t count,
                                    std::uint32_t kept) {
  std::uint32_t least = 0;
  std::uint32_t decided = 0;
  unsigned wanted = kept;
  for (int pass = 0; pass < 3; ++pass) {
    const unsigned shift = pass == 0 ? 20 : pass == 1 ? 10 : 0;
    const unsigned bins = pass == 0 ? kBins : kBins / 2;
    for (unsigned i = threadIdx.x; i < bins; i += kThreads) work.counts[i] = 0;
    __syncthreads();
    for (std::uint32_t i = threadIdx.x; i < count; i += kThreads) {
      const std::uint32_t size = size_of(in[i]);
      if ((size & decided) == least) atomicAdd(&work.counts[(size >> shift) & (bins - 1)], 1U);
    }
    __syncthreads();
    find_bin(work, bins, wanted);
    least |= work.bin << shift;
    decided |= (bins - 1) << shift;
    wanted = work.remaining;
    __syncthreads();
  }
  return least;
}

/// The number of threads before this thread with `flag`; `all`: of all threads with it.
__device__ unsigned rank_of(Workspace& work, bool flag, unsigned& all) {
  const unsigned votes = __ballot_sync(0xffffffffU, flag);
  const unsigned lane = threadIdx.x % 32;
  if (lane == 0) work.warps[threadIdx.x / 32] = static_cast<unsigned>(__popc(votes));
  __syncthreads();
  unsigned before = static_cast<unsigned>(__popc(votes & ((1U << lane) - 1)));
  all = 0;
  for (unsigned warp = 0; warp < kWarps; ++warp) {
    if (warp < threadIdx.x / 32) before += work.warps[warp];
    all += work.warps[warp];
  }
  __syncthreads();
  return before;
}

__device__ void gather(Workspace& work, const float* in, std::uint32_t count, std::uint32_t kept,
                       std::byte* out) {
  const std::uint32_t least = least_kept(work, in, count, kept);
  const unsigned equals = work.remaining;
  auto* places = reinterpret_cast<std::uint32_t*>(out);
  auto* numbers = reinterpret_cast<float*>(out) + kept;
  unsigned equals_seen = 0;
  unsigned found = 0;
  for (std::uint32_t first = 0; first < count && found < kept; first += kThreads) {
    const std::uint32_t place = first + threadIdx.x;
    const bool inside = place < count;
    const float number = inside ? in[place] : 0.0F;
    const bool equal = inside && size_of(number) == least;
    unsigned all = 0;
    const unsigned rank = equals_seen + rank_of(work, equal, all);
    equals_seen += all;
    const bool keep = inside && (size_of(number) > least || (equal && rank < equals));
    const unsigned at = found + rank_of(work, keep, all);
    found += all;
    if (!keep) continue;
    places[at] = place;
    numbers[at] = number;
  }
}

__global__ void topk_encode(Shape shape, Choice how, const float* in, std::byte* out) {
  __shared__ Workspace work;
  const std::size_t parts = shape.parts();
  for (std::size_t part = blockIdx.x; part < parts; part += gridDim.x) {
    const std::size_t first = part * shape.part_elements;
    const auto count = static_cast<std::uint32_t>(min(shape.part_elements, shape.elements - first));
    const Kept kept = part + 1 == parts ? how.last : how.whole;
    std::byte* const to = out + part * how.stride;
    if (!kept.plain) {
      gather(work, in + first, count, kept.elements, to);
      continue;
    }
    for (std::uint32_t i = threadIdx.x; i < count; i += kThreads) {
      reinterpret_cast<float*>(to)[i] = in[first + i];
    }
  }
}

/// Places are already checked, or come from another kernel; places outside are still skipped.
__global__ void topk_add(Shape shape, Choice how, const std::byte* in, float* target) {
  const std::size_t parts = shape.parts();
  for (std::size_t part = blockIdx.x; part < parts; part += gridDim.x) {
    const std::size_t first = part * shape.part_elements;
    const auto count = static_cast<std::uint32_t>(min(shape.part_elements, shape.elements - first));
    const Kept kept = part + 1 == parts ? how.last : how.whole;
    const auto* places = reinterpret_cast<const std::uint32_t*>(in + part * how.stride);
    const auto* numbers = reinterpret_cast<const float*>(places) + (kept.plain ? 0 : kept.elements);
    const std::uint32_t some = kept.plain ? count : kept.elements;
    for (std::uint32_t i = threadIdx.x; i < some; i += kThreads) {
      const std::uint32_t place = kept.plain ? i : places[i];
      if (place < count) target[first + place] += numbers[i];
    }
  }
}

unsigned blocks_of(const Shape& shape) {
  return static_cast<unsigned>(std::clamp<std::size_t>(shape.parts(), 1, kMostBlocks));
}

}  // namespace

std::size_t topk_stride(const CodecSpec& spec, const Shape& shape) {
  return choice_of(spec, shape).stride;
}

Status encode_topk(const CodecSpec& spec, const Shape& shape, const float* in, std::byte* out,
                   Stream stream) {
  if (Status status = check(spec, shape); !status.ok()) return status;
  topk_encode<<<blocks_of(shape), kThreads, 0, static_cast<cudaStream_t>(stream)>>>(
      shape, choice_of(spec, shape), in, out);
  return outcome(cudaGetLastError());
}

Status decode_add_topk(const CodecSpec& spec, const Shape& shape, const std::byte* in,
                       float* target, Stream stream) {
  if (Status status = check(spec, shape); !status.ok()) return status;
  topk_add<<<blocks_of(shape), kThreads, 0, static_cast<cudaStream_t>(stream)>>>(
      shape, choice_of(spec, shape), in, target);
  return outcome(cudaGetLastError());
}

}  // namespace stretto::ops::cuda

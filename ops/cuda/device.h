// SPDX-License-Identifier: Apache-2.0
// Codecs and sums on a GPU: bit-identical to ops/codec.h, for whole tensors in device memory, with
// all parts in one launch. A separate build (ops/cuda/CMakeLists.txt); tools/check_cuda builds,
// tests and measures it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "stretto/codec.h"
#include "stretto/status.h"

namespace stretto::ops::cuda {

/// A tensor in device memory, cut into parts of `part_elements`, a multiple of 1,024. The parts'
/// encodings are consecutive, each aligned to 4 bytes.
struct Shape {
  std::size_t elements = 0;
  std::size_t part_elements = 65536;

  constexpr std::size_t parts() const { return (elements + part_elements - 1) / part_elements; }
};

/// A cudaStream_t; null is the default stream. All functions below are asynchronous on it. Pointers
/// are to device memory; a launch error is kInvalidArgument with CUDA's text.
using Stream = void*;

/// target += source.
Status sum(float* target, const float* source, std::size_t elements, Stream stream);

/// To and from f16 or bf16, in 16 bits each.
Status narrow(Codec codec, std::uint16_t* out, const float* in, std::size_t elements,
              Stream stream);
Status widen(Codec codec, float* out, const std::uint16_t* in, std::size_t elements, Stream stream);

/// Bytes from one part's encoding to the next one's.
std::size_t onebit_stride(const Shape& shape);
/// `sums` needs a double for each 1,024 elements of each part.
Status encode_onebit(const Shape& shape, bool scaling, const float* in, std::byte* out,
                     double* sums, Stream stream);
Status decode_add_onebit(const Shape& shape, const std::byte* in, float* target, Stream stream);

/// Dithering by the maximum norm (DitherNorm::kMax), linear or natural levels. streams[p] is part
/// p's Encoding::stream.
std::size_t dithering_stride(const CodecSpec& spec, const Shape& shape);
Status encode_dithering(const CodecSpec& spec, const Shape& shape, const std::uint64_t* streams,
                        const float* in, std::byte* out, Stream stream);
Status decode_add_dithering(const CodecSpec& spec, const Shape& shape, const std::byte* in,
                            float* target, Stream stream);

/// The k largest of each part, the first ones of equals (topk.cu).
std::size_t topk_stride(const CodecSpec& spec, const Shape& shape);
Status encode_topk(const CodecSpec& spec, const Shape& shape, const float* in, std::byte* out,
                   Stream stream);
/// Indices out of range are skipped; the host checks received data.
Status decode_add_topk(const CodecSpec& spec, const Shape& shape, const std::byte* in,
                       float* target, Stream stream);

/// The staging copies: to the host's pinned memory and back.
Status to_host(void* host, const void* device, std::size_t bytes, Stream stream);
Status to_device(void* device, const void* host, std::size_t bytes, Stream stream);

}  // namespace stretto::ops::cuda

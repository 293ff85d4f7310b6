// SPDX-License-Identifier: Apache-2.0
// Replaces the kernels in a build without CUDA: every function returns kUnsupported, so that
// callers need no #ifdef. Sizes are as for parts in host memory.
#include "ops/codec.h"
#include "ops/cuda/device.h"

namespace stretto::ops::cuda {
namespace {

Status absent() {
  return {Code::kUnsupported,
          "this build has no CUDA; use host memory, or see tools/check_cuda for what it needs"};
}

}  // namespace

Status sum(float*, const float*, std::size_t, Stream) { return absent(); }
Status narrow(Codec, std::uint16_t*, const float*, std::size_t, Stream) { return absent(); }
Status widen(Codec, float*, const std::uint16_t*, std::size_t, Stream) { return absent(); }

std::size_t onebit_stride(const Shape& shape) {
  return encoded_bytes({.codec = Codec::kOnebit}, shape.part_elements);
}
Status encode_onebit(const Shape&, bool, const float*, std::byte*, double*, Stream) {
  return absent();
}
Status decode_add_onebit(const Shape&, const std::byte*, float*, Stream) { return absent(); }

std::size_t dithering_stride(const CodecSpec& spec, const Shape& shape) {
  return encoded_bytes(spec, shape.part_elements);
}
Status encode_dithering(const CodecSpec&, const Shape&, const std::uint64_t*, const float*,
                        std::byte*, Stream) {
  return absent();
}
Status decode_add_dithering(const CodecSpec&, const Shape&, const std::byte*, float*, Stream) {
  return absent();
}

std::size_t topk_stride(const CodecSpec& spec, const Shape& shape) {
  return encoded_bytes(spec, shape.part_elements);
}
Status encode_topk(const CodecSpec&, const Shape&, const float*, std::byte*, Stream) {
  return absent();
}
Status decode_add_topk(const CodecSpec&, const Shape&, const std::byte*, float*, Stream) {
  return absent();
}

Status to_host(void*, const void*, std::size_t, Stream) { return absent(); }
Status to_device(void*, const void*, std::size_t, Stream) { return absent(); }

}  // namespace stretto::ops::cuda

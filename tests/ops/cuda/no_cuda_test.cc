// SPDX-License-Identifier: Apache-2.0
// A build without CUDA says so, whatever is asked of it, and knows sizes all the same.
#include <gtest/gtest.h>

#include "ops/cuda/device.h"

namespace stretto::ops::cuda {
namespace {

TEST(NoCuda, EverythingIsUnsupported) {
  const Shape shape{.elements = 10, .part_elements = 1024};
  const CodecSpec topk{.codec = Codec::kTopk, .k = 0.5};
  const CodecSpec dithering{.codec = Codec::kDithering, .k = 1};
  for (const Status& status :
       {sum(nullptr, nullptr, 1, nullptr), narrow(Codec::kFp16, nullptr, nullptr, 1, nullptr),
        widen(Codec::kFp16, nullptr, nullptr, 1, nullptr),
        encode_onebit(shape, true, nullptr, nullptr, nullptr, nullptr),
        decode_add_onebit(shape, nullptr, nullptr, nullptr),
        encode_dithering(dithering, shape, nullptr, nullptr, nullptr, nullptr),
        decode_add_dithering(dithering, shape, nullptr, nullptr, nullptr),
        encode_topk(topk, shape, nullptr, nullptr, nullptr),
        decode_add_topk(topk, shape, nullptr, nullptr, nullptr),
        to_host(nullptr, nullptr, 1, nullptr), to_device(nullptr, nullptr, 1, nullptr)}) {
    EXPECT_EQ(status.code(), Code::kUnsupported);
  }
}

TEST(NoCuda, SizesAreThoseOfTheHost) {
  const Shape shape{.elements = 5000, .part_elements = 1024};
  EXPECT_EQ(onebit_stride(shape), 4U + 128U);
  EXPECT_EQ(dithering_stride({.codec = Codec::kDithering, .k = 1}, shape), 4U + 256U);
  EXPECT_EQ(topk_stride({.codec = Codec::kTopk, .k = 0.25}, shape), 256U * 8);
  EXPECT_EQ(topk_stride({.codec = Codec::kTopk, .k = 0.75}, shape), 4096U) << "as it is";
}

}  // namespace
}  // namespace stretto::ops::cuda

// SPDX-License-Identifier: Apache-2.0
// The GPU's bytes and numbers against the CPU's, bit by bit.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>

#include "ops/codec.h"
#include "ops/convert.h"
#include "ops/cuda/device.h"
#include "ops/cuda/memory.h"

namespace stretto::ops::cuda {
namespace {

using Floats = std::vector<float>;
using Bytes = std::vector<std::byte>;

constexpr std::size_t kPart = 4096;
constexpr std::size_t kCounts[] = {1, 31, 1000, 4096, 5000, 123'457};

Floats numbers(std::size_t count, unsigned seed = 1) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  Floats out(count);
  for (float& number : out) number = normal(random);
  const float odd[] = {0.0F, -0.0F, 1e-40F, 65520.0F, 1e30F, -3e38F};
  for (std::size_t i = 0; i < count; i += 97) out[i] = odd[i / 97 % 6];
  return out;
}

bool same(const Floats& a, const Floats& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

TEST(Device, SumsAreTheCpus) {
  for (const std::size_t count : kCounts) {
    Floats wanted = numbers(count);
    const Floats added = numbers(count, 2);
    const Array<float> target(wanted);
    const Array<float> source(added);
    ASSERT_TRUE(sum(target.data(), source.data(), count, nullptr).ok());
    sum_into(Dtype::kF32, std::as_writable_bytes(std::span(wanted)),
             std::as_bytes(std::span(added)));
    EXPECT_TRUE(same(target.values(), wanted)) << count;
  }
}

TEST(Device, ConversionsAreTheCpus) {
  for (const auto& [codec, dtype] :
       {std::pair(Codec::kFp16, Dtype::kF16), std::pair(Codec::kBf16, Dtype::kBf16)}) {
    const Floats in = numbers(10'000);
    const Array<float> from(in);
    const Array<std::uint16_t> small(in.size());
    const Array<float> back(in.size());
    ASSERT_TRUE(narrow(codec, small.data(), from.data(), in.size(), nullptr).ok());
    ASSERT_TRUE(cuda::widen(codec, back.data(), small.data(), in.size(), nullptr).ok());
    std::vector<std::uint16_t> wanted(in.size());
    ops::narrow(dtype, in, std::as_writable_bytes(std::span(wanted)));
    EXPECT_EQ(small.values(), wanted);
    Floats wide(in.size());
    ops::widen(dtype, std::as_bytes(std::span(wanted)), std::span(wide));
    EXPECT_TRUE(same(back.values(), wide));
  }
}

/// Encodes and adds on the CPU, part by part, and compares the results with the GPU's.
template <typename EncodeAndAdd>
void expect_same(const CodecSpec& spec, const Floats& in, std::size_t stride,
                 EncodeAndAdd encode_and_add) {
  const std::size_t count = in.size();
  const Shape shape{.elements = count, .part_elements = kPart};
  const Array<float> source(in);
  const Array<std::byte> encoded(stride * shape.parts());
  const Array<float> target(numbers(count, 3));
  encode_and_add(shape, source, encoded, target);
  const Bytes bytes = encoded.values();
  Floats wanted = numbers(count, 3);
  for (std::size_t part = 0; part < shape.parts(); ++part) {
    const std::size_t first = part * kPart;
    const std::size_t size = std::min(kPart, count - first);
    Bytes mine(encoded_bytes(spec, size));
    encode(spec, std::span(in).subspan(first, size), {.stream = part}, mine);
    ASSERT_EQ(std::memcmp(mine.data(), bytes.data() + part * stride, mine.size()), 0)
        << spec.k << ": part " << part << " of " << count;
    decode(spec, mine, std::span(wanted).subspan(first, size), Then::kAdd);
  }
  EXPECT_TRUE(same(target.values(), wanted)) << count;
}

TEST(Device, OnebitIsTheCpus) {
  for (const bool scaling : {false, true}) {
    for (const std::size_t count : kCounts) {
      const CodecSpec spec{.codec = Codec::kOnebit, .scaling = scaling};
      const std::size_t stride = onebit_stride({.elements = count, .part_elements = kPart});
      expect_same(
          spec, numbers(count), stride,
          [&](const Shape& shape, const auto& in, const auto& out, const auto& target) {
            const Array<double> sums(shape.parts() * kPart / 1024);
            ASSERT_TRUE(
                encode_onebit(shape, scaling, in.data(), out.data(), sums.data(), nullptr).ok());
            ASSERT_TRUE(decode_add_onebit(shape, out.data(), target.data(), nullptr).ok());
          });
    }
  }
}

TEST(Device, DitheringIsTheCpus) {
  for (const double k : {1.0, 6.0, 100.0}) {
    for (const DitherLevels levels : {DitherLevels::kLinear, DitherLevels::kNatural}) {
      for (const std::size_t count : kCounts) {
        const CodecSpec spec{.codec = Codec::kDithering, .k = k, .levels = levels};
        const std::size_t stride =
            dithering_stride(spec, {.elements = count, .part_elements = kPart});
        expect_same(
            spec, numbers(count), stride,
            [&](const Shape& shape, const auto& in, const auto& out, const auto& target) {
              std::vector<std::uint64_t> names(shape.parts());
              for (std::size_t i = 0; i < names.size(); ++i) names[i] = i;
              const Array<std::uint64_t> streams(names);
              ASSERT_TRUE(
                  encode_dithering(spec, shape, streams.data(), in.data(), out.data(), nullptr)
                      .ok());
              ASSERT_TRUE(
                  decode_add_dithering(spec, shape, out.data(), target.data(), nullptr).ok());
            });
      }
    }
  }
}

/// Few different magnitudes, so that most choices are among equal ones.
Floats alike(std::size_t count) {
  Floats out = numbers(count);
  for (float& number : out) number = std::round(number);
  return out;
}

TEST(Device, TopkIsTheCpusAndSoAreItsTies) {
  EXPECT_EQ(topk_stride({.codec = Codec::kTopk, .k = 1}, {.elements = 1, .part_elements = 0}), 0U);
  for (const double k : {0.001, 0.01, 0.3, 0.5, 0.6, 1.0, 7.0, 2000.0, 3000.0, 1e9}) {
    for (const std::size_t count : kCounts) {
      const CodecSpec spec{.codec = Codec::kTopk, .k = k};
      const std::size_t stride = topk_stride(spec, {.elements = count, .part_elements = kPart});
      for (const Floats& in : {numbers(count), alike(count), Floats(count, -2.5F)}) {
        expect_same(
            spec, in, stride,
            [&](const Shape& shape, const auto& from, const auto& out, const auto& target) {
              ASSERT_TRUE(encode_topk(spec, shape, from.data(), out.data(), nullptr).ok());
              ASSERT_TRUE(decode_add_topk(spec, shape, out.data(), target.data(), nullptr).ok());
            });
      }
    }
  }
}

TEST(Device, PlacesOutsideChangeNothing) {
  const CodecSpec spec{.codec = Codec::kTopk, .k = 2};
  const Shape shape{.elements = 10, .part_elements = 1024};
  const std::uint32_t words[] = {10, 0xffffffffU, 0x3f800000U, 0x3f800000U};
  const Bytes bytes(reinterpret_cast<const std::byte*>(words),
                    reinterpret_cast<const std::byte*>(words + 4));
  const Array<std::byte> encoded(bytes);
  const Array<float> target(Floats(10, 3.0F));
  ASSERT_TRUE(decode_add_topk(spec, shape, encoded.data(), target.data(), nullptr).ok());
  EXPECT_TRUE(same(target.values(), Floats(10, 3.0F)));
}

TEST(Device, RefusesInvalidArguments) {
  EXPECT_EQ(
      encode_topk({.codec = Codec::kOnebit}, {.elements = 10}, nullptr, nullptr, nullptr).code(),
      Code::kInvalidArgument);

  EXPECT_EQ(
      decode_add_onebit({.elements = 10, .part_elements = 1000}, nullptr, nullptr, nullptr).code(),
      Code::kInvalidArgument);
  EXPECT_EQ(encode_dithering({.codec = Codec::kDithering, .k = 1, .norm = DitherNorm::kL2},
                             {.elements = 10}, nullptr, nullptr, nullptr, nullptr)
                .code(),
            Code::kUnsupported);
}

}  // namespace
}  // namespace stretto::ops::cuda

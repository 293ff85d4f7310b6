// SPDX-License-Identifier: Apache-2.0
// One part's encodings at a worker: chance by seed, tensor, part, round and rank; any alignment.
#include "worker/operations/codec_executor.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "tests/van/far_end.h"

namespace stretto {
namespace {

using Bytes = std::vector<std::byte>;

PartCoder coder(std::string_view codec, std::uint32_t part = 0, Rank rank = 0,
                const char* name = "x") {
  return {fake::spec(name, Dtype::kF32, 64, {.codec = *codec_from(codec)}), part, rank};
}

Bytes encoded(PartCoder with, std::uint64_t round = 1) {
  std::vector<float> numbers(64);
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(i) + 1;
  Bytes out(with.encoded_bytes(256));
  with.encode(std::as_bytes(std::span(numbers)), round, out);
  return out;
}

TEST(PartCoder, RandomnessIsReproducibleAndDistinct) {
  const Bytes one = encoded(coder("dithering,k=2,seed=1"));
  EXPECT_EQ(encoded(coder("dithering,k=2,seed=1")), one);
  EXPECT_NE(encoded(coder("dithering,k=2,seed=2")), one);
  EXPECT_NE(encoded(coder("dithering,k=2,seed=1", 1)), one);
  EXPECT_NE(encoded(coder("dithering,k=2,seed=1", 0, 1)), one);
  EXPECT_NE(encoded(coder("dithering,k=2,seed=1"), 2), one);
  EXPECT_NE(encoded(coder("dithering,k=2,seed=1", 0, 0, "y")), one);
}

TEST(PartCoder, AllWorkersKeepTheSameElementsByChance) {
  EXPECT_EQ(encoded(coder("randomk,k=4", 0, 0)), encoded(coder("randomk,k=4", 0, 1)));
  EXPECT_NE(encoded(coder("randomk,k=4"), 1), encoded(coder("randomk,k=4"), 2));
}

TEST(PartCoder, MemoryMayLieAnywhere) {
  PartCoder aligned = coder("int8");
  PartCoder odd = coder("int8");
  const std::vector<float> numbers(64, 3.5F);
  Bytes shifted(257);
  std::memcpy(shifted.data() + 1, numbers.data(), 256);
  Bytes first(aligned.encoded_bytes(256));
  Bytes second(first.size());
  aligned.encode(std::as_bytes(std::span(numbers)), 1, first);
  odd.encode(std::span(shifted).subspan(1), 1, second);
  EXPECT_EQ(first, second);
  std::ranges::fill(shifted, std::byte{0});
  odd.decode(second, std::span(shifted).subspan(1));
  EXPECT_EQ(std::memcmp(shifted.data() + 1, numbers.data(), 256), 0);
}

TEST(PartCoder, OnlyItsOwnCodecIsTaken) {
  const PartCoder part = coder("fp16");
  EXPECT_TRUE(part.check(Codec::kFp16, 256, Buffer::allocate(128)).ok());
  EXPECT_EQ(part.check(Codec::kBf16, 256, Buffer::allocate(128)).code(), Code::kMalformed);
  EXPECT_EQ(part.check(Codec::kFp16, 256, Buffer::allocate(127)).code(), Code::kMalformed);
}

TEST(CodecExecutor, RunsAtOnceAndInOrder) {
  CodecExecutor here;
  std::vector<int> order;
  here.run({.bytes = 1}, [&] { order.push_back(1); }, [&] { order.push_back(2); });
  EXPECT_EQ(order, (std::vector<int>{1, 2}));
}

}  // namespace
}  // namespace stretto

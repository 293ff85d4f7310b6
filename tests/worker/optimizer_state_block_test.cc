// SPDX-License-Identifier: Apache-2.0
// Blocks of optimizer state: decoding returns the encoded parts, and rejects invalid blocks and
// blocks of another tensor, for any bytes.
#include "worker/server_path/optimizer_state_block.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

namespace stretto {
namespace {

using testing::HasSubstr;
using Bytes = std::vector<std::byte>;

TensorSpec adam(std::uint64_t elements) {
  TensorSpec spec{.name = "w", .dtype = Dtype::kF32, .elements = elements, .options = {}};
  spec.options.update.rule = Rule::kAdam;
  return spec;
}

Bytes block_of(const TensorSpec& spec, const std::vector<Bytes>& parts) {
  Bytes block = begin_state_block(spec, 256);
  for (const Bytes& part : parts) append_to_state_block(block, part);
  return block;
}

TEST(StateBlock, GivesBackItsParts) {
  const std::vector<Bytes> parts = {Bytes(5, std::byte{1}), {}, Bytes(7, std::byte{2})};
  const Bytes block = block_of(adam(100), parts);
  const auto found = parts_of_state_block(block, adam(100), 256, 3);
  ASSERT_TRUE(found.ok()) << found.status().text();
  ASSERT_EQ(found->size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_TRUE(std::ranges::equal((*found)[i], parts[i])) << i;
  }
}

TEST(StateBlock, AnotherRateIsTheSameState) {
  TensorSpec faster = adam(100);
  faster.options.update.rate = 1;
  EXPECT_TRUE(parts_of_state_block(block_of(adam(100), {{}}), faster, 256, 1).ok());
}

TEST(StateBlock, OfAnotherTensorIsRefused) {
  const Bytes block = block_of(adam(100), {{}});
  TensorSpec momentum = adam(100);
  momentum.options.update.rule = Rule::kMomentum;
  TensorSpec wide = adam(100);
  wide.dtype = Dtype::kF64;
  for (const TensorSpec& other : {momentum, wide, adam(101)}) {
    EXPECT_EQ(parts_of_state_block(block, other, 256, 1).status().code(), Code::kMismatch);
  }
  EXPECT_THAT(parts_of_state_block(block, adam(100), 512, 1).status().cause(),
              HasSubstr("set STRETTO_PART_BYTES, as it was"));
}

TEST(StateBlock, EveryWrongLengthIsRefused) {
  const Bytes block = block_of(adam(100), {Bytes(5), Bytes(7)});
  for (std::size_t size = 0; size < block.size(); ++size) {
    EXPECT_FALSE(parts_of_state_block(std::span(block).first(size), adam(100), 256, 2).ok());
  }
  Bytes longer = block;
  longer.push_back({});
  EXPECT_THAT(parts_of_state_block(longer, adam(100), 256, 2).status().cause(),
              HasSubstr("goes on behind its end"));
}

TEST(StateBlock, EveryChangedBitIsRefused) {
  const Bytes right = block_of(adam(100), {Bytes(5), Bytes(16), Bytes(7)});
  for (std::size_t bit = 0; bit < right.size() * 8; ++bit) {
    Bytes wrong = right;
    wrong[bit / 8] ^= std::byte{1} << (bit % 8);
    EXPECT_FALSE(parts_of_state_block(wrong, adam(100), 256, 3).ok()) << bit;
  }
  Bytes last = right;
  last.back() = std::byte{1};
  EXPECT_THAT(parts_of_state_block(last, adam(100), 256, 3).status().cause(),
              HasSubstr("part 2 of the state is not as it was saved"));
}

TEST(StateBlock, CorruptSizesNeverReadPastBlock) {
  const Bytes right = block_of(adam(100), {Bytes(5), Bytes(7)});
  std::minstd_rand random(1);
  for (int i = 0; i < 10'000; ++i) {
    Bytes wrong = right;
    for (int change = 0; change < 3; ++change) {
      wrong[random() % wrong.size()] = static_cast<std::byte>(random());
    }
    const auto found = parts_of_state_block(wrong, adam(100), 256, 2);
    if (!found.ok()) continue;
    std::size_t bytes = 0;
    for (const auto& part : *found) bytes += part.size();
    EXPECT_LT(bytes, wrong.size());
  }
}

}  // namespace
}  // namespace stretto

// SPDX-License-Identifier: Apache-2.0
// Memory in several places, from every offset and of every length.
#include "server/storage/scatter_gather.h"

#include <gtest/gtest.h>

#include <array>

namespace stretto {
namespace {

TEST(Spans, AreReadAndWrittenAcrossTheirEnds) {
  std::array<std::byte, 3> one{std::byte{0}, std::byte{1}, std::byte{2}};
  std::array<std::byte, 2> two{std::byte{3}, std::byte{4}};
  const Spans memory = {one, {}, two};
  const ConstSpans same(memory.begin(), memory.end());
  ASSERT_EQ(size_of(memory), 5U);
  for (std::size_t offset = 0; offset <= 5; ++offset) {
    for (std::size_t size = 0; offset + size <= 5; ++size) {
      std::vector<std::byte> piece(size);
      copy_from(same, offset, piece);
      for (std::size_t i = 0; i < size; ++i) EXPECT_EQ(piece[i], std::byte(offset + i));
    }
  }
  const std::array<std::byte, 2> other{std::byte{12}, std::byte{13}};
  copy_into(memory, 2, other);
  EXPECT_EQ(one[1], std::byte{1});
  EXPECT_EQ(one[2], std::byte{12});
  EXPECT_EQ(two[0], std::byte{13});
  EXPECT_EQ(two[1], std::byte{4});
}

}  // namespace
}  // namespace stretto

// SPDX-License-Identifier: Apache-2.0
// Words go into bytes and back; other bytes are none.
#include <gtest/gtest.h>

#include "van/fabric/line_word.h"

namespace stretto::fabric {
namespace {

std::span<const std::byte, kWordHeadBytes> head_of(const std::array<std::byte, kWordBytes>& word) {
  return std::span(word).first<kWordHeadBytes>();
}

TEST(LineWordTest, ComesBackAsItWent) {
  for (const LineWord word : {LineWord{.asks = true, .came = 7}, LineWord{.asks = false, .came = 0},
                              LineWord{.asks = false, .came = ~std::uint64_t{0}}}) {
    EXPECT_EQ(decode_word(head_of(encode(word))).or_exit(), word);
  }
}

TEST(LineWordTest, OtherBytesAreRefused) {
  auto bytes = encode(LineWord{.asks = true, .came = 7});
  bytes[0] = std::byte{0};
  EXPECT_EQ(decode_word(head_of(bytes)).status().code(), Code::kMalformed);
  bytes = encode(LineWord{.asks = true, .came = 7});
  bytes[4] = std::byte{2};
  EXPECT_EQ(decode_word(head_of(bytes)).status().code(), Code::kMalformed)
      << "it asks, or it does not";
}

}  // namespace
}  // namespace stretto::fabric

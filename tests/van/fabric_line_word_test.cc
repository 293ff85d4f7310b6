// SPDX-License-Identifier: Apache-2.0
// Words go into bytes and back; other bytes are none.
#include <gtest/gtest.h>

#include "van/fabric/probe_message.h"

namespace stretto::fabric {
namespace {

std::span<const std::byte, kWordHeadBytes> head_of(const std::array<std::byte, kWordBytes>& word) {
  return std::span(word).first<kWordHeadBytes>();
}

TEST(ProbeMessageTest, ComesBackAsItWent) {
  for (const ProbeMessage word :
       {ProbeMessage{.asks = true, .came = 7}, ProbeMessage{.asks = false, .came = 0},
        ProbeMessage{.asks = false, .came = ~std::uint64_t{0}}}) {
    EXPECT_EQ(decode_word(head_of(encode(word))).or_exit(), word);
  }
}

TEST(ProbeMessageTest, OtherBytesAreRefused) {
  auto bytes = encode(ProbeMessage{.asks = true, .came = 7});
  bytes[0] = std::byte{0};
  EXPECT_EQ(decode_word(head_of(bytes)).status().code(), Code::kMalformed);
  bytes = encode(ProbeMessage{.asks = true, .came = 7});
  bytes[4] = std::byte{2};
  EXPECT_EQ(decode_word(head_of(bytes)).status().code(), Code::kMalformed)
      << "it asks, or it does not";
}

}  // namespace
}  // namespace stretto::fabric

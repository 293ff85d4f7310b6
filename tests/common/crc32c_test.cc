// SPDX-License-Identifier: Apache-2.0
// The checksum against published values, whole and in pieces.
#include "common/crc32c.h"

#include <gtest/gtest.h>

#include <string>

namespace stretto {
namespace {

std::uint32_t crc_of(const std::string& text, std::uint32_t so_far = 0) {
  return crc32c(std::as_bytes(std::span(text)), so_far);
}

TEST(Crc32c, PublishedValues) {
  // RFC 3720, B.4.
  EXPECT_EQ(crc_of(std::string(32, '\0')), 0x8a9136aaU);
  EXPECT_EQ(crc_of(std::string(32, '\xff')), 0x62a8ab43U);
  EXPECT_EQ(crc_of("123456789"), 0xe3069283U);
  EXPECT_EQ(crc_of(""), 0U);
}

TEST(Crc32c, InPiecesItIsTheSame) {
  std::string text;
  for (int i = 0; i < 1000; ++i) text.push_back(static_cast<char>(i * i));
  for (const unsigned cut : {0U, 1U, 63U, 128U, 999U, 1000U}) {
    EXPECT_EQ(crc_of(text.substr(cut), crc_of(text.substr(0, cut))), crc_of(text)) << cut;
  }
}

}  // namespace
}  // namespace stretto

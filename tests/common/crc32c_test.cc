// SPDX-License-Identifier: Apache-2.0
// The checksum against published values, at once and in pieces.
#include "common/memory/crc32c.h"

#include <gtest/gtest.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include <optional>
#include <string>
#include <vector>

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

#if defined(__x86_64__)

// The register components that the processor regards as in use (XGETBV with 1), if known.
std::optional<unsigned> parts_in_use() {
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  if (!__get_cpuid_count(0xd, 1, &a, &b, &c, &d) || (a & 4U) == 0) return std::nullopt;
  unsigned low = 0;
  unsigned high = 0;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(1));
  return low;
}

// If a library leaves upper halves in use, every later SSE instruction waits for them.
TEST(Crc32c, LeavesNoUpperHalvesOfRegistersInUse) {
  constexpr unsigned kUpperHalves = 1U << 2 | 1U << 6;  // Of 256 and of 512 bits.
  if (!parts_in_use()) return;                          // This processor cannot report it.
  const std::vector<std::byte> bytes(100'000);
  const auto checksum = crc32c(bytes, 0);
  const unsigned after = *parts_in_use();
  EXPECT_EQ(after & kUpperHalves, 0U) << checksum;
}

#endif

}  // namespace
}  // namespace stretto

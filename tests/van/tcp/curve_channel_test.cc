// SPDX-License-Identifier: Apache-2.0
// Sealed parts: they are crypto_box's to the byte, come open again in place or elsewhere, and not
// if anything was done to them.
#include "van/tcp/curve_channel.h"

#include <gtest/gtest.h>
#include <sodium.h>

#include <cstring>
#include <string>
#include <vector>

namespace stretto::tcp {
namespace {

using PartBytes = std::vector<std::byte>;

class CurveChannelTest : public testing::Test {
 protected:
  static CurveKey any_key() {
    CurveKey key;
    randombytes_buf(key.data(), key.size());
    return key;
  }
  static PartBytes part_of(std::size_t bytes) {
    PartBytes part(bytes);
    if (bytes != 0) randombytes_buf(part.data(), part.size());
    return part;
  }
  static PartBytes sealed(CurveSealer& sealer, const PartBytes& part, std::uint8_t flags = 0) {
    PartBytes whole(part.size() + kSealBytes);
    sealer.seal(flags, part, whole);
    return whole;
  }
  static std::optional<std::uint8_t> open(CurveOpener& opener, const PartBytes& whole,
                                          PartBytes& part) {
    const std::span<const std::byte> bytes(whole);
    part.resize(whole.size() - kSealBytes);
    return opener.open(bytes.first<kSealBytes>(), bytes.subspan(kSealBytes), part);
  }

  const CurveKey shared_ = any_key();
  CurveSealer sealer_{shared_, CurveSide::kDialer, 3};
  CurveOpener opener_{shared_, CurveSide::kDialer, 2};
};

// By libsodium's own function, from the first byte to beyond the pieces that ours goes in.
TEST_F(CurveChannelTest, IsABoxToTheByte) {
  std::uint64_t number = 3;
  for (const std::size_t bytes :
       std::vector<std::size_t>{0, 1, 30, 31, 32, 63, 64, 95, 1000, 16384, 16415, 16416, 50'000}) {
    const PartBytes part = part_of(bytes);
    const PartBytes whole = sealed(sealer_, part, kSealedMore);
    PartBytes plain = {std::byte{kSealedMore}};
    plain.insert(plain.end(), part.begin(), part.end());
    std::string nonce = "CurveZMQMESSAGEC" + std::string(7, '\0') + static_cast<char>(number++);
    PartBytes box(plain.size() + crypto_box_MACBYTES);
    crypto_box_easy_afternm(reinterpret_cast<unsigned char*>(box.data()),
                            reinterpret_cast<unsigned char*>(plain.data()), plain.size(),
                            reinterpret_cast<unsigned char*>(nonce.data()), shared_.data());
    EXPECT_EQ(std::memcmp(whole.data(), "\x07MESSAGE", 8), 0);
    EXPECT_EQ(std::memcmp(whole.data() + 8, nonce.data() + 16, 8), 0);
    EXPECT_EQ(PartBytes(whole.begin() + 16, whole.end()), box) << bytes;
  }
}

TEST_F(CurveChannelTest, ComesOpenAsItWas) {
  for (const std::size_t bytes : std::vector<std::size_t>{0, 1, 31, 32, 1000, 16415, 50'000}) {
    const PartBytes part = part_of(bytes);
    PartBytes opened;
    EXPECT_EQ(open(opener_, sealed(sealer_, part, 1), opened), 1);
    EXPECT_EQ(opened, part);
    PartBytes whole = sealed(sealer_, part);
    const std::span<std::byte> place = std::span(whole).subspan(kSealBytes);
    EXPECT_EQ(opener_.open(std::span<const std::byte>(whole).first<kSealBytes>(), place, place), 0);
    EXPECT_TRUE(std::ranges::equal(place, part));
  }
}

TEST_F(CurveChannelTest, NoBitMayBeAnother) {
  const PartBytes whole = sealed(sealer_, part_of(100));
  PartBytes opened;
  for (std::size_t bit = 0; bit < 8 * whole.size(); ++bit) {
    PartBytes changed = whole;
    changed[bit / 8] ^= static_cast<std::byte>(1 << bit % 8);
    EXPECT_FALSE(open(opener_, changed, opened)) << bit;
  }
  EXPECT_TRUE(open(opener_, whole, opened));  // Those before have changed nothing.
}

TEST_F(CurveChannelTest, NothingIsLeftOutOrRepeated) {
  const PartBytes first = sealed(sealer_, part_of(10));
  const PartBytes second = sealed(sealer_, part_of(10));
  const PartBytes third = sealed(sealer_, part_of(10));
  PartBytes opened;
  EXPECT_TRUE(open(opener_, first, opened));
  EXPECT_FALSE(open(opener_, first, opened));
  EXPECT_FALSE(open(opener_, third, opened)) << "else a header might go with another payload";
  EXPECT_TRUE(open(opener_, second, opened));
  EXPECT_FALSE(open(opener_, second, opened));
  EXPECT_TRUE(open(opener_, third, opened));
}

TEST_F(CurveChannelTest, AreOfOneDirectionAndOneConnection) {
  PartBytes opened;
  CurveOpener reflected(shared_, CurveSide::kListener, 0);
  EXPECT_FALSE(open(reflected, sealed(sealer_, part_of(10)), opened));
  CurveKey other = shared_;
  other[0] ^= 1;
  CurveOpener elsewhere(other, CurveSide::kDialer, 0);
  EXPECT_FALSE(open(elsewhere, sealed(sealer_, part_of(10)), opened));
}

}  // namespace
}  // namespace stretto::tcp

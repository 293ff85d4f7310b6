// SPDX-License-Identifier: Apache-2.0
// A frame's checksum: of the header as well as of the payload, and wanted once it has been there.
#include "van/wire/frame_checksum.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace stretto::wire {
namespace {

using testing::HasSubstr;

struct Sealed {
  Header header;
  std::vector<std::byte> payload = std::vector<std::byte>(100, std::byte{5});
  Sealed() {
    header.kind = Kind::kPush;
    header.flags = kWantsValue;
    header.version = 3;
    header.bytes = 100;
    add_checksum(header, payload);
  }
};

TEST(Checksum, IsOfTheHeaderAndThePayload) {
  const Sealed sealed;
  EXPECT_EQ(sealed.header.flags, kWantsValue | kChecksummed);
  EXPECT_TRUE(verify_checksum(encode(sealed.header), sealed.payload, true).ok());

  Sealed other;
  other.payload[99] ^= std::byte{1};
  const Status status = verify_checksum(encode(other.header), other.payload, true);
  EXPECT_EQ(status.code(), Code::kLinkBroken);
  EXPECT_THAT(status.cause(), HasSubstr("a frame of 100 bytes came corrupted"));

  other = {};
  other.header.version ^= 1;
  EXPECT_EQ(verify_checksum(encode(other.header), other.payload, false).code(), Code::kLinkBroken);
}

TEST(Checksum, MadeAnewItIsOfTheNewHeader) {
  Sealed sealed;
  sealed.header.acked = 17;
  add_checksum(sealed.header, sealed.payload);
  EXPECT_TRUE(verify_checksum(encode(sealed.header), sealed.payload, true).ok());
}

TEST(Checksum, AFrameWithoutOneIsTakenOnlyIfNoneIsWanted) {
  Header bare;
  bare.kind = Kind::kCredit;
  EXPECT_FALSE(has_checksum(encode(bare)));
  EXPECT_TRUE(verify_checksum(encode(bare), {}, false).ok());
  EXPECT_THAT(verify_checksum(encode(bare), {}, true).cause(), HasSubstr("without the checksum"));
}

}  // namespace
}  // namespace stretto::wire

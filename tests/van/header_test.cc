// SPDX-License-Identifier: Apache-2.0
// The header's layout, written out by hand so that it can never change silently, and everything
// that a reader refuses.
#include "van/wire/header.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <functional>
#include <string>

namespace stretto::wire {
namespace {

std::string hex(HeaderView bytes) {
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    char digits[4] = {};
    std::snprintf(digits, sizeof digits, "%02x", std::to_integer<unsigned>(bytes[i]));
    text += digits;
    text += i % 16 == 15 ? "\n" : " ";
  }
  return text;
}

Header distinct() {
  Header header;
  header.kind = Kind::kPush;
  header.dtype = static_cast<std::uint8_t>(Dtype::kBf16);
  header.flags = kWantsValue | kAssign;
  header.epoch = 0x14131211;
  header.sender = 0x18171615;
  header.priority = -2;
  header.key = {0x24232221, 0x28272625};
  header.bytes = 0x10;
  header.checksum = 0x38373635;
  header.version = 0x4847464544434241;
  header.base = 0x5857565554535251;
  header.sequence = 0x6867666564636261;
  header.credit = 0x7877767574737271;
  header.push_sequence = 0x8887868584838281;
  header.received = 0x9897969594939291;
  header.acked = 0xa8a7a6a5a4a3a2a1;
  header.own_applied = 0xb8b7b6b5b4b3b2b1;
  header.spread = 0xc4c3c2c1;
  header.contributors = 0xc8c7c6c5;
  header.deadline = 0xd8d7d6d5d4d3d2d1;
  header.total = 0x20;
  return header;
}

TEST(Wire, LaysTheHeaderOutAsWrittenDownHere) {
  EXPECT_EQ(hex(encode(distinct())),
            "53 54 52 4f 05 00 02 04 00 00 03 00 11 12 13 14\n"  // magic ... epoch
            "15 16 17 18 fe ff ff ff 21 22 23 24 25 26 27 28\n"  // sender, priority, key
            "10 00 00 00 35 36 37 38 41 42 43 44 45 46 47 48\n"  // bytes, checksum, version
            "51 52 53 54 55 56 57 58 61 62 63 64 65 66 67 68\n"  // base, sequence
            "71 72 73 74 75 76 77 78 81 82 83 84 85 86 87 88\n"  // credit, push sequence
            "91 92 93 94 95 96 97 98 a1 a2 a3 a4 a5 a6 a7 a8\n"  // previous push, acked
            "b1 b2 b3 b4 b5 b6 b7 b8 c1 c2 c3 c4 c5 c6 c7 c8\n"  // applied, spread, contributors
            "d1 d2 d3 d4 d5 d6 d7 d8 00 00 00 00 20 00 00 00\n");
}

TEST(Wire, NumbersOfKindsAndFlagsNeverChange) {
  EXPECT_EQ(static_cast<int>(Kind::kControl), 1);
  EXPECT_EQ(static_cast<int>(Kind::kPush), 2);
  EXPECT_EQ(static_cast<int>(Kind::kPull), 3);
  EXPECT_EQ(static_cast<int>(Kind::kValue), 4);
  EXPECT_EQ(static_cast<int>(Kind::kDone), 5);
  EXPECT_EQ(static_cast<int>(Kind::kCredit), 6);
  EXPECT_EQ(static_cast<int>(Kind::kMore), 7);
  EXPECT_EQ(static_cast<int>(Kind::kCall), 8);
  EXPECT_EQ(static_cast<int>(Kind::kAnswer), 9);
  EXPECT_EQ(static_cast<int>(Kind::kUp), 10);
  EXPECT_EQ(static_cast<int>(Kind::kDown), 11);
  EXPECT_EQ(kWantsValue, 1);
  EXPECT_EQ(kAssign, 2);
  EXPECT_EQ(kAbsent, 4);
  EXPECT_EQ(kAbandoned, 8);
  EXPECT_EQ(kCreditNow, 16);
  EXPECT_EQ(kProbe, 32);
  EXPECT_EQ(kChecksummed, 64);
  EXPECT_EQ(kUrgent, 2048);
  EXPECT_EQ(kProtocol, 5);
}

TEST(Wire, DecodesEncodedHeader) {
  const HeaderBytes bytes = encode(distinct());
  const Result<Header> header = decode(bytes, 16);
  ASSERT_TRUE(header.ok()) << header.status().text();
  EXPECT_EQ(hex(encode(*header)), hex(bytes));
}

struct Refusal {
  const char* name;
  std::function<void(Header&)> spoil;
  std::size_t payload_bytes;
  Code code;
  std::string says;  // A part of the cause.
};
void PrintTo(const Refusal& refusal, std::ostream* out) { *out << refusal.name; }

TEST(Wire, EncodedElementsHaveAnyLength) {
  Header header;
  header.kind = Kind::kPush;
  header.dtype = static_cast<std::uint8_t>(Dtype::kF32);
  header.codec = static_cast<std::uint8_t>(Codec::kOnebit);
  header.bytes = 5;
  ASSERT_TRUE(decode(encode(header), 5).ok());
  EXPECT_EQ(decode(encode(header), 5)->codec, header.codec);
}

class WireRefusal : public testing::TestWithParam<Refusal> {};

TEST_P(WireRefusal, ErrorDescribesInvalidField) {
  Header header;
  header.kind = Kind::kPush;
  header.dtype = static_cast<std::uint8_t>(Dtype::kF32);
  header.bytes = 8;
  ASSERT_TRUE(decode(encode(header), 8).ok());
  GetParam().spoil(header);
  const Result<Header> read = decode(encode(header), GetParam().payload_bytes);
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.status().code(), GetParam().code);
  EXPECT_THAT(read.status().cause(), testing::HasSubstr(GetParam().says));
}

INSTANTIATE_TEST_SUITE_P(
    All, WireRefusal,
    testing::Values(
        Refusal{"Magic", [](Header& h) { h.magic = 0x1234; }, 8, Code::kMalformed, "0x1234"},
        Refusal{"Protocol", [](Header& h) { h.protocol = 9; }, 8, Code::kRefused, "protocol 9"},
        Refusal{"KindZero", [](Header& h) { h.kind = Kind{0}; }, 8, Code::kMalformed, "kind 0"},
        Refusal{"KindTwelve", [](Header& h) { h.kind = Kind{12}; }, 8, Code::kMalformed, "kind 12"},
        Refusal{"Flags", [](Header& h) { h.flags = 4096; }, 8, Code::kMalformed, "flags 0x1000"},
        Refusal{"Codec", [](Header& h) { h.codec = 8; }, 8, Code::kMalformed, "codec 8"},
        Refusal{"CodecOfOtherType",
                [](Header& h) {
                  h.codec = 4;
                  h.dtype = 2;
                },
                8, Code::kMalformed, "codec 4 of dtype 2"},
        Refusal{"Memory", [](Header& h) { h.memory = 3; }, 8, Code::kMalformed, "memory 3"},
        Refusal{"Longer", [](Header&) {}, 12, Code::kMalformed, "announces 8 bytes, 12 came"},
        Refusal{"Shorter", [](Header&) {}, 0, Code::kMalformed, "announces 8 bytes, 0 came"},
        Refusal{"DtypeZero", [](Header& h) { h.dtype = 0; }, 8, Code::kMalformed, "dtype 0"},
        Refusal{"DtypeNine", [](Header& h) { h.dtype = 9; }, 8, Code::kMalformed, "dtype 9"},
        Refusal{"HalfAnElement", [](Header& h) { h.bytes = 6; }, 6, Code::kMalformed, "6 bytes"},
        Refusal{"AbsentWithBytes", [](Header& h) { h.flags = kAssign | kAbsent; }, 8,
                Code::kMalformed, "carries 8 bytes"},
        Refusal{"PullWithBytes", [](Header& h) { h.kind = Kind::kPull; }, 8, Code::kMalformed,
                "carries 8 bytes"},
        Refusal{"DoneWithBytes", [](Header& h) { h.kind = Kind::kDone; }, 8, Code::kMalformed,
                "carries 8 bytes"},
        Refusal{"CreditWithBytes", [](Header& h) { h.kind = Kind::kCredit; }, 8, Code::kMalformed,
                "carries 8 bytes"},
        Refusal{"OversizeControl",
                [](Header& h) {
                  h.kind = Kind::kControl;
                  h.bytes = kMaxControlBytes + 1;
                },
                kMaxControlBytes + 1, Code::kMalformed,
                "at most " + std::to_string(kMaxControlBytes)},
        Refusal{"OversizeData", [](Header& h) { h.bytes = kMaxPayloadBytes + 4; },
                kMaxPayloadBytes + 4, Code::kMalformed,
                "at most " + std::to_string(kMaxPayloadBytes)},
        Refusal{"AbandonedPush", [](Header& h) { h.flags = kAbandoned; }, 8, Code::kMalformed,
                "a slice of 8"},
        Refusal{"OffsetOfAWholeFrame", [](Header& h) { h.offset = 8; }, 8, Code::kMalformed,
                "at 8 of 0"},
        Refusal{"FirstSliceOfEverything", [](Header& h) { h.total = 8; }, 8, Code::kMalformed,
                "at 0 of 8"},
        Refusal{"FirstSliceAtAnOffset",
                [](Header& h) {
                  h.total = 64;
                  h.offset = 8;
                },
                8, Code::kMalformed, "at 8 of 64"},
        Refusal{"SlicesOfHalfElements", [](Header& h) { h.total = 66; }, 8, Code::kMalformed,
                "66 bytes"},
        Refusal{"SlicesOfControl",
                [](Header& h) {
                  h.kind = Kind::kControl;
                  h.total = 64;
                },
                8, Code::kMalformed, "at 0 of 64"},
        Refusal{"MoreAtTheBeginning",
                [](Header& h) {
                  h.kind = Kind::kMore;
                  h.total = 64;
                },
                8, Code::kMalformed, "at 0 of 64"},
        Refusal{"MoreBeyondTheEnd",
                [](Header& h) {
                  h.kind = Kind::kMore;
                  h.total = 64;
                  h.offset = 60;
                },
                8, Code::kMalformed, "at 60 of 64"},
        Refusal{"MoreOfNothing",
                [](Header& h) {
                  h.kind = Kind::kMore;
                  h.total = 64;
                  h.offset = 8;
                  h.bytes = 0;
                },
                0, Code::kMalformed, "0 bytes at 8"}),
    [](const auto& each) { return std::string(each.param.name); });

TEST(Wire, AcceptsLargestControlAndPayload) {
  Header header;
  header.bytes = kMaxControlBytes;
  EXPECT_TRUE(decode(encode(header), kMaxControlBytes).ok());
  header.kind = Kind::kValue;
  header.dtype = static_cast<std::uint8_t>(Dtype::kF64);
  header.bytes = kMaxPayloadBytes;
  EXPECT_TRUE(decode(encode(header), kMaxPayloadBytes).ok());
}

TEST(Wire, TakesSlicesThatLieInsideTheirFrame) {
  Header header;
  header.kind = Kind::kPush;
  header.dtype = static_cast<std::uint8_t>(Dtype::kF32);
  header.bytes = 8;
  header.total = 64;
  EXPECT_TRUE(decode(encode(header), 8).ok());
  header.kind = Kind::kMore;
  header.offset = 56;
  EXPECT_TRUE(decode(encode(header), 8).ok());
  header.flags = kAbandoned;
  header.bytes = 0;
  header.offset = 0;
  EXPECT_TRUE(decode(encode(header), 0).ok());
}

TEST(Wire, CallFramesCarryAnyBytesButNoElements) {
  for (const Kind kind : {Kind::kCall, Kind::kAnswer}) {
    for (const std::uint32_t bytes : {0U, 1U, 7U}) {
      Header header;
      header.kind = kind;
      header.bytes = bytes;
      EXPECT_TRUE(decode(encode(header), bytes).ok());
      header.total = 100;  // The first slice of more; one without bytes is none.
      EXPECT_EQ(decode(encode(header), bytes).ok(), bytes > 0);
    }
  }
}

TEST(Wire, ReservedFieldsAreIgnored) {
  Header header;
  header.checksum = 1;
  header.received = 2;
  header.deadline = 3;
  EXPECT_TRUE(decode(encode(header), 0).ok());
}

TEST(Wire, ReadsHeadersAtAnyAddress) {
  std::array<std::byte, kHeaderBytes + 1> memory{};
  const HeaderBytes bytes = encode(distinct());
  std::copy(bytes.begin(), bytes.end(), memory.begin() + 1);
  EXPECT_TRUE(decode(HeaderView(memory.data() + 1, kHeaderBytes), 16).ok());
}

}  // namespace
}  // namespace stretto::wire

// SPDX-License-Identifier: Apache-2.0
// What a log or a terminal is shown of texts that came from outside.
#include "common/text.h"

#include <gtest/gtest.h>

namespace stretto {
namespace {

TEST(Printable, PlainTextAndUtf8StayAsTheyAre) {
  EXPECT_EQ(printable("layer.0/weight 'x' \\n"), "layer.0/weight 'x' \\n");
  EXPECT_EQ(printable("gr\xc3\xb6\xc3\x9f"
                      "e \xe6\x9d\xb1\xe4\xba\xac \xf0\x9f\x8e\xbb"),
            "gr\xc3\xb6\xc3\x9f"
            "e \xe6\x9d\xb1\xe4\xba\xac \xf0\x9f\x8e\xbb");
  EXPECT_EQ(printable(""), "");
}

TEST(Printable, ControlCharactersAreEscaped) {
  EXPECT_EQ(printable("a\nERROR b\r\tc"), "a\\nERROR b\\x0d\\tc");
  EXPECT_EQ(printable("\x1b[31mred\x7f"), "\\x1b[31mred\\x7f");
  EXPECT_EQ(printable(std::string_view("\0x", 2)), "\\x00x");
}

TEST(Printable, SoAreThoseOfEightBits) {
  EXPECT_EQ(printable("\xc2\x9b"
                      "2J"),
            "\\xc2\\x9b2J")
      << "CSI in one character";
  EXPECT_EQ(printable("\xc2\xa0"), "\xc2\xa0") << "a space that does not break is none";
  EXPECT_EQ(printable("a\xe2\x80\xa8z\xe2\x80\xa9"), "a\\xe2\\x80\\xa8z\\xe2\\x80\\xa9");
}

TEST(Printable, EscapesBidirectionalControls) {
  EXPECT_EQ(printable("a\xe2\x80\xaez"), "a\\xe2\\x80\\xaez");
  EXPECT_EQ(printable("\xe2\x81\xa6z\xe2\x81\xa9"), "\\xe2\\x81\\xa6z\\xe2\\x81\\xa9");
  EXPECT_EQ(printable("\xe2\x80\xaf\xe2\x81\xaa"), "\xe2\x80\xaf\xe2\x81\xaa");
}

TEST(Printable, EscapesInvalidUtf8Bytewise) {
  EXPECT_EQ(printable("\xff\xfe"), "\\xff\\xfe");
  EXPECT_EQ(printable("\xc0\xaf"), "\\xc0\\xaf") << "overlong";
  EXPECT_EQ(printable("\xe0\x9f\xbf"), "\\xe0\\x9f\\xbf") << "overlong";
  EXPECT_EQ(printable("\xf0\x8f\xbf\xbf"), "\\xf0\\x8f\\xbf\\xbf") << "overlong";
  EXPECT_EQ(printable("\xed\xa0\x80"), "\\xed\\xa0\\x80") << "half of a surrogate pair";
  EXPECT_EQ(printable("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80") << "beyond Unicode";
  EXPECT_EQ(printable("\x9b"
                      "1m"),
            "\\x9b1m")
      << "CSI in one byte";
  EXPECT_EQ(printable("ends in \xe6\x9d"), "ends in \\xe6\\x9d");
  EXPECT_EQ(printable("\xe6z"), "\\xe6z");
}

TEST(Printable, LinesMayBeKept) {
  EXPECT_EQ(printable("a\n\x1b[2Jb\n", Lines::kKept), "a\n\\x1b[2Jb\n");
}

TEST(Shortened, SaysThatThereWasMore) {
  EXPECT_EQ(shortened("four", 4), "four");
  EXPECT_EQ(shortened("fours", 4), "four...");
}

}  // namespace
}  // namespace stretto

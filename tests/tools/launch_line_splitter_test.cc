// SPDX-License-Identifier: Apache-2.0
// Pieces of output as lines, and what is shown of a line that has not ended.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tools/launch/process/line_splitter.h"

namespace stretto::launch {
namespace {

using Lines = std::vector<std::string>;

class LaunchLines : public testing::Test {
 protected:
  void feed(std::string_view bytes) {
    splitter_.feed(bytes, [this](std::string_view line) { lines_.emplace_back(line); });
  }
  void finish() {
    splitter_.finish([this](std::string_view line) { lines_.emplace_back(line); });
  }

  LineSplitter splitter_;
  Lines lines_;
};

TEST_F(LaunchLines, JoinsPiecesIntoLines) {
  feed("one\ntw");
  feed("o\n\nthr");
  feed("ee");
  EXPECT_EQ(lines_, (Lines{"one", "two", ""}));
  finish();
  finish();
  EXPECT_EQ(lines_, (Lines{"one", "two", "", "three"}));
}

TEST_F(LaunchLines, ReturnReplacesLineSoFar) {
  feed("windows\r\n\r 10%");
  feed("\r 20%\r\r");
  EXPECT_EQ(splitter_.look(), " 20%");
  EXPECT_EQ(splitter_.look(), "") << "nothing new";
  feed(" 30%");
  EXPECT_EQ(splitter_.look(), " 30%");
  EXPECT_FALSE(splitter_.has_news());
  feed("\r100%\n\r\r\nlast\r");
  EXPECT_EQ(lines_, (Lines{"windows", "100%", ""}));
  finish();
  EXPECT_EQ(lines_.back(), "last");
}

TEST_F(LaunchLines, IdleTextIsShownOnceAndInItsLine) {
  feed("loading");
  EXPECT_EQ(splitter_.look(), "") << "more may come";
  EXPECT_EQ(splitter_.look(), "loading ...");
  EXPECT_EQ(splitter_.look(), "");
  feed(" done\n");
  EXPECT_EQ(lines_, Lines{"loading done"});
  EXPECT_FALSE(splitter_.has_news());
}

TEST_F(LaunchLines, BufferThatCutsLineIsNotShown) {
  feed(std::string(4000, 'x') + "\n" + std::string(95, 'y'));
  EXPECT_FALSE(splitter_.has_news());
  EXPECT_EQ(splitter_.look(), "");
  feed("z");
  EXPECT_TRUE(splitter_.has_news());
}

TEST_F(LaunchLines, LongLinesComeInPieces) {
  const std::string most(LineSplitter::kMaxLine, 'x');
  feed(most);
  feed("\n");
  EXPECT_EQ(lines_, Lines{most});
  lines_.clear();
  feed(most + most + "y\nz\n");
  EXPECT_EQ(lines_, (Lines{most, most, "y", "z"}));
}

}  // namespace
}  // namespace stretto::launch

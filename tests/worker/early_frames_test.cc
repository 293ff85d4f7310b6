// SPDX-License-Identifier: Apache-2.0
// What comes before all links of a pair are there: in which order it is taken, and how much is
// kept.
#include "worker/exchange/early_frames.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stretto {
namespace {

using testing::ElementsAre;

EarlyFrames::Frame word(LinkId link) { return {.link = link, .what = control::Leave{}}; }
EarlyFrames::Frame data(LinkId link, std::size_t bytes) {
  return {.link = link, .what = EarlyFrames::Data{{}, Buffer::allocate(bytes)}};
}

std::vector<LinkId> links_of(const std::vector<EarlyFrames::Frame>& frames) {
  std::vector<LinkId> links;
  for (const EarlyFrames::Frame& frame : frames) links.push_back(frame.link);
  return links;
}

TEST(EarlyFrames, TakesFramesOfDueNodeInOrder) {
  EarlyFrames early;
  EXPECT_TRUE(early.keep(7, word(1)));
  EXPECT_TRUE(early.keep(8, word(4)));
  EXPECT_TRUE(early.keep(7, data(2, 64)));
  EXPECT_TRUE(early.keep(7, word(1)));
  const auto is_seven = [](NodeId node, LinkId) { return node == 7; };
  EXPECT_THAT(links_of(early.take(is_seven)), ElementsAre(1, 2, 1));
  EXPECT_TRUE(early.take(is_seven).empty());
  early.forget(8);
  EXPECT_TRUE(early.take([](NodeId, LinkId) { return true; }).empty());
}

TEST(EarlyFrames, TooMuchOfOneWorkerIsRefused) {
  EarlyFrames early;
  constexpr std::size_t kHalf = EarlyFrames::kMostBytes / 2;
  EXPECT_TRUE(early.keep(7, data(1, kHalf - EarlyFrames::kFrameBytes)));
  EXPECT_TRUE(early.keep(8, data(2, kHalf))) << "another one's do not count";
  EXPECT_TRUE(early.keep(7, data(1, kHalf - EarlyFrames::kFrameBytes)));
  EXPECT_FALSE(early.keep(7, word(1)));
}

}  // namespace
}  // namespace stretto

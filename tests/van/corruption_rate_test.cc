// SPDX-License-Identifier: Apache-2.0
// Many corrupted frames in a minute are told once; few, or many in hours, are not.
#include "van/session/corruption_rate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "van/session/frame_handler.h"
#include "van/session/link_table.h"

namespace stretto {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr Time kNow = Time(100s);

TEST(CorruptionRate, TheFourthWithinAMinuteIsTold) {
  CorruptionRate corruption;
  EXPECT_FALSE(corruption.note(kNow));
  EXPECT_FALSE(corruption.note(kNow + 20s));
  EXPECT_FALSE(corruption.note(kNow + 40s));
  EXPECT_TRUE(corruption.note(kNow + 60s - 1ns));
}

TEST(CorruptionRate, ThreeAMinuteAreNotTold) {
  CorruptionRate corruption;
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(corruption.note(kNow + i * 20s)) << i;
}

TEST(CorruptionRate, IsToldOnceAMinute) {
  CorruptionRate corruption;
  int told = 0;
  for (int i = 0; i < 180; ++i) told += corruption.note(kNow + i * 1s) ? 1 : 0;
  EXPECT_EQ(told, 3);
}

TEST(CorruptionRate, NamesTheLinkInTheLog) {
  LinkState link;
  link.session.set_peer(7);
  link.address = "there:1";
  FrameCounters counters;
  LinkTable links;
  links.set_names([](NodeId) { return "worker 2"; });
  testing::internal::CaptureStderr();
  for (int i = 0; i < 3; ++i) note_corrupted(link, links, counters, kNow);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), IsEmpty());
  testing::internal::CaptureStderr();
  for (int i = 0; i < 3; ++i) note_corrupted(link, links, counters, kNow);
  const std::string told = testing::internal::GetCapturedStderr();
  EXPECT_THAT(told, HasSubstr("the link to worker 2 at there:1 came corrupted"));
  EXPECT_EQ(std::count(told.begin(), told.end(), '\n'), 1);
  EXPECT_EQ(counters.corrupted, 6U);
}

}  // namespace
}  // namespace stretto

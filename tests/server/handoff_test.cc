// SPDX-License-Identifier: Apache-2.0
// A draining server: its requests to schedulers, and its timeouts.
#include "server/recovery/handoff.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stretto {
namespace {

using testing::HasSubstr;

const Time kNow(1s);

TEST(Handoff, EachSchedulerIsAskedOnce) {
  Handoff over;
  EXPECT_FALSE(over.question(7));
  over.begin(kNow, 20s);
  EXPECT_FALSE(over.question(0)) << "none is there";
  EXPECT_TRUE(over.question(7));
  EXPECT_FALSE(over.question(7));
  EXPECT_TRUE(over.question(8)) << "one that has come in its place";
  EXPECT_TRUE(over.in_vain(kNow).ok());
}

TEST(Handoff, ItGoesWithTheReasonWhereItCannotBe) {
  Handoff over;
  over.hear({Code::kUnsupported, "of another request"});
  EXPECT_TRUE(over.in_vain(kNow).ok());
  over.begin(kNow, 20s);
  over.hear({Code::kUnsupported, "no servers move"});
  const Status why = over.in_vain(kNow);
  EXPECT_EQ(why.code(), Code::kInterrupted);
  EXPECT_THAT(why.cause(), HasSubstr("by a signal, and its place is not handed over: no servers"));
}

TEST(Handoff, ItGoesOnceItHasTakenTooLong) {
  Handoff over;
  EXPECT_EQ(over.next_due(), Time::max());
  over.begin(kNow, 20s);
  over.begin(kNow + 5s, 20s);  // A second signal.
  EXPECT_EQ(over.next_due(), kNow + 20s);
  EXPECT_TRUE(over.in_vain(kNow + 19s).ok());
  EXPECT_THAT(over.in_vain(kNow + 20s).cause(), HasSubstr("within 20 s (STRETTO_DRAIN_S)"));
}

TEST(Handoff, ItGoesWhereNoSchedulerIsThereForLong) {
  Handoff over;
  over.begin(kNow, 20s);
  over.look(true, kNow);
  over.look(false, kNow + 5s);
  over.look(true, kNow + 6s);
  over.look(true, kNow + 11s);
  EXPECT_TRUE(over.in_vain(kNow + 11s).ok()) << "there was one in between";
  EXPECT_EQ(over.next_due(), kNow + 12s);
  EXPECT_THAT(over.in_vain(kNow + 12s).cause(), HasSubstr("there is no scheduler"));
}

TEST(Handoff, WhereAnotherStandsByItGoesOnceThatOneHasAll) {
  Handoff over;
  over.begin(kNow, 20s, true);
  EXPECT_TRUE(over.in_vain(kNow).ok());
  over.hear({});
  EXPECT_EQ(over.in_vain(kNow).cause(), "the server was asked to end by a signal");
  Handoff moving;
  moving.begin(kNow, 20s);
  moving.hear({});
  EXPECT_TRUE(moving.in_vain(kNow).ok()) << "it is told to leave";
}

}  // namespace
}  // namespace stretto

// SPDX-License-Identifier: Apache-2.0
// Who is late and who only waits for a turn, by times that are handed in.
#include "scheduler/dashboard/connection_deadlines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stretto {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(ConnectionDeadlines, SilentConnectionIsLate) {
  ConnectionDeadlines book({.ask = 1s, .answer = 60s, .at_once = 4});
  EXPECT_THAT(book.late({"a"}, Time(0s)), IsEmpty());
  EXPECT_THAT(book.late({"a", "b"}, Time(1s)), IsEmpty());
  EXPECT_THAT(book.late({"a", "b"}, Time(1100ms)), ElementsAre("a"));
  EXPECT_THAT(book.late({"b"}, Time(2100ms)), ElementsAre("b"));
}

TEST(ConnectionDeadlines, RequestExtendsDeadlineToAnswer) {
  ConnectionDeadlines book({.ask = 1s, .answer = 60s, .at_once = 4});
  EXPECT_THAT(book.late({"a"}, Time(0s)), IsEmpty());
  book.asked("a", Time(900ms));
  EXPECT_THAT(book.late({"a"}, Time(60s)), IsEmpty());
  EXPECT_THAT(book.late({"a"}, Time(61s)), ElementsAre("a"));
}

TEST(ConnectionDeadlines, DeadlineStartsWhenTurnArrives) {
  ConnectionDeadlines book({.ask = 1s, .answer = 60s, .at_once = 2});
  EXPECT_THAT(book.late({"slow1", "slow2", "c"}, Time(0s)), IsEmpty());
  EXPECT_THAT(book.late({"slow1", "slow2", "c"}, Time(1100ms)), ElementsAre("slow1", "slow2"));
  EXPECT_THAT(book.late({"c"}, Time(1200ms)), IsEmpty());
  EXPECT_THAT(book.late({"c"}, Time(2000ms)), IsEmpty());
  EXPECT_THAT(book.late({"c"}, Time(2200ms)), ElementsAre("c"));
}

TEST(ConnectionDeadlines, ForgetsClosedConnection) {
  ConnectionDeadlines book({.ask = 1s, .answer = 60s, .at_once = 1});
  EXPECT_THAT(book.late({"a"}, Time(0s)), IsEmpty());
  EXPECT_THAT(book.late({}, Time(1s)), IsEmpty());
  EXPECT_THAT(book.late({"a"}, Time(2s)), IsEmpty()) << "another, from the same port";
}

}  // namespace
}  // namespace stretto

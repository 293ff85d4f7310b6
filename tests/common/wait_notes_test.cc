// SPDX-License-Identifier: Apache-2.0
// When the log says that a wait goes on.
#include "common/threads/wait_notes.h"

#include <gtest/gtest.h>

namespace stretto {
namespace {

TEST(WaitNotes, AreDueAfterTenSecondsAndThenEachMinute) {
  const Time begun{100s};
  WaitNotes notes(begun);
  EXPECT_EQ(notes.next_due(), begun + 10s);
  EXPECT_FALSE(notes.take(begun + 9999ms));
  EXPECT_EQ(notes.take(begun + 10s), 10s);
  EXPECT_FALSE(notes.take(begun + 69s));
  EXPECT_EQ(notes.take(begun + 71s), 71s);
  EXPECT_EQ(notes.next_due(), begun + 131s);
}

}  // namespace
}  // namespace stretto

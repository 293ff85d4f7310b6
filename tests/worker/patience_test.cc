// SPDX-License-Identifier: Apache-2.0
// Deadlines of calls that wait for a worker that pauses.
#include "worker/operations/patience.h"

#include <gtest/gtest.h>

namespace stretto {
namespace {

TEST(Patience, PauseGrantsFullTimeoutAgain) {
  Patience patience(20s);
  const Time begun{100s};
  const Time deadline = patience.deadline(begun);
  EXPECT_EQ(deadline, begun + 20s);
  EXPECT_EQ(patience.extended(deadline), deadline);
  patience.excuse(begun + 15s);
  EXPECT_EQ(patience.extended(deadline), begun + 35s);
  const Time later = patience.deadline(begun + 30s);
  EXPECT_EQ(patience.extended(later), later) << "begun after the pause";
  EXPECT_EQ(patience.extended(Time::max()), Time::max());
}

}  // namespace
}  // namespace stretto

// SPDX-License-Identifier: Apache-2.0
// The last round of each incarnation.
#include "server/aggregation/duplicate_filter.h"

#include <gtest/gtest.h>

namespace stretto {
namespace {

TEST(DuplicateFilter, KeepTheLastOfEachIncarnation) {
  DuplicateFilter counted;
  EXPECT_EQ(counted.last_of(7), 0U);
  counted.note(1'000'000'007, 1);
  counted.note(7, 3);
  counted.note(7, 2);
  EXPECT_EQ(counted.last_of(7), 3U);
  EXPECT_EQ(counted.last_of(1'000'000'007), 1U);
  EXPECT_EQ(counted.last_of(8), 0U);
  EXPECT_EQ(counted.workers(), 2U);
}

}  // namespace
}  // namespace stretto

// SPDX-License-Identifier: Apache-2.0
// Said at once, and then seldom.
#include "common/complaint.h"

#include <gtest/gtest.h>

namespace stretto {
namespace {

TEST(Complaint, IsSaidAtOnceAndThenOnceAMinute) {
  Complaint complaint;
  const Time start{};
  EXPECT_TRUE(complaint.due(start));
  EXPECT_FALSE(complaint.due(start + Complaint::kEvery - 1ns));
  EXPECT_TRUE(complaint.due(start + Complaint::kEvery));
  EXPECT_FALSE(complaint.due(start + Complaint::kEvery + 1s));
}

}  // namespace
}  // namespace stretto

// SPDX-License-Identifier: Apache-2.0
// Names of reductions, also of numbers that are none.
#include "stretto/reduce_op.h"

#include <gtest/gtest.h>

namespace stretto {
namespace {

TEST(ReduceOps, HaveNames) {
  EXPECT_EQ(name_of(ReduceOp::kSum), "sum");
  EXPECT_EQ(name_of(ReduceOp::kAverage), "average");
  EXPECT_EQ(name_of(static_cast<ReduceOp>(8)), "unknown");
}

}  // namespace
}  // namespace stretto

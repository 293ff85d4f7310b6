// SPDX-License-Identifier: Apache-2.0
// Grants and loop delays in a Van's credit frames.
#include <gtest/gtest.h>

#include "tests/van/van_fixture.h"

namespace stretto {
namespace {

class VanCreditTest : public fake::VanFixture {};

TEST_F(VanCreditTest, CreditGrantsNothingToALoneSender) {
  wire_.local = false;
  admit_worker();
  push(1);
  step();
  pass(1ms);
  (void)worker_.data();
  EXPECT_EQ(worker_.last_credit.version, 0U);
}

TEST_F(VanCreditTest, CreditTellsHowLongTheLoopWaitsForAProcessor) {
  wire_.local = false;
  admit_worker();
  for (int i = 0; i < 300; ++i) {  // Every other time it is 2 ms late.
    if (i % 2 == 0) clock_.wait(2ms);
    pass(2ms);
  }
  push(1);
  step();
  pass(2ms);
  (void)worker_.data();
  EXPECT_NEAR(static_cast<double>(worker_.last_credit.base), 2e6, 1e3) << "nanoseconds";
}

TEST_F(VanCreditTest, CreditTellsNothingOfAPathWithinThisHost) {
  admit_worker();
  push(1);
  step();
  pass(1ms);
  (void)worker_.data();
  ASSERT_EQ(worker_.heard_credits, 1U);
  EXPECT_EQ(worker_.last_credit.version, 0U);
}

}  // namespace
}  // namespace stretto

// SPDX-License-Identifier: Apache-2.0
// Calls for checkpoints: each ends once, with the one that it waits for.
#include "worker/checkpoint_calls.h"

#include <gtest/gtest.h>

#include "tests/sim/sim_network.h"

namespace stretto {
namespace {

class CheckpointCallsTest : public testing::Test {
 protected:
  CheckpointCalls::Done into(std::vector<Status>& ends) {
    return [&ends](const Status& status) { ends.push_back(status); };
  }

  sim::VirtualClock clock_;
  CheckpointCalls calls_{clock_, 10s};
  std::vector<Status> first_;
  std::vector<Status> second_;
};

TEST_F(CheckpointCallsTest, EndWithTheirOwn) {
  const CheckpointShare first = calls_.begin(1);
  calls_.await(first.call, into(first_));
  calls_.await(calls_.begin(1).call, into(second_));
  calls_.on_ended({.number = 2});
  EXPECT_TRUE(first_.empty());
  calls_.on_ended({.number = 1, .why = {Code::kResource, "full"}});
  ASSERT_EQ(first_.size(), 1U);
  ASSERT_EQ(second_.size(), 1U);
  EXPECT_EQ(first_[0].code(), Code::kResource);
  EXPECT_TRUE(calls_.idle());
  calls_.on_ended({.number = 1});
  EXPECT_EQ(first_.size(), 1U);
}

TEST_F(CheckpointCallsTest, ACutIsForTheCallWhoseBarrierOpensNext) {
  calls_.on_cut({.number = 3, .workers = {7, 8}});
  const CheckpointShare first = calls_.begin(1);
  ASSERT_TRUE(first.cut);
  EXPECT_EQ(first.cut->number, 3U);
  EXPECT_FALSE(calls_.begin(1).cut) << "it is being written already";
}

TEST_F(CheckpointCallsTest, WhatEndsBeforeAnybodyAsksIsToldWhenTheyDo) {
  const CheckpointShare first = calls_.begin(1);
  calls_.on_ended({.number = 1, .why = {Code::kResource, "full"}});
  calls_.end_all({Code::kSchedulerLost, "gone"});
  EXPECT_FALSE(calls_.idle()) << "the program writes";
  EXPECT_EQ(calls_.next_due(), Time::max());
  calls_.await(first.call, into(first_));
  ASSERT_EQ(first_.size(), 1U);
  EXPECT_EQ(first_[0].code(), Code::kResource);
  EXPECT_TRUE(calls_.idle());
}

TEST_F(CheckpointCallsTest, WaitNoLongerThanOthers) {
  calls_.await(calls_.begin(1).call, into(first_));
  clock_.advance_to(clock_.now() + 5s);
  calls_.await(calls_.begin(2).call, into(second_));
  calls_.tick();
  EXPECT_TRUE(first_.empty());
  clock_.advance_to(calls_.next_due());
  calls_.tick();
  ASSERT_EQ(first_.size(), 1U);
  EXPECT_EQ(first_[0].code(), Code::kTimeout);
  EXPECT_TRUE(second_.empty());
  calls_.end_all({Code::kSchedulerLost, "gone"});
  EXPECT_EQ(second_.at(0).code(), Code::kSchedulerLost);
  EXPECT_EQ(calls_.next_due(), Time::max());
}

}  // namespace
}  // namespace stretto

// SPDX-License-Identifier: Apache-2.0
// A checkpoint that is being made when the scheduler is lost, and what the next one makes of it.
#include "scheduler/checkpoint/checkpoint_attempt.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/scheduler/checkpoint_keeper_fixture.h"

namespace stretto {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

TEST_F(CheckpointKeeperTest, NextSchedulerCompletesOpenCheckpoint) {
  workers_ = {7};
  begin();
  for (const NodeId shard : shards_) keeper().on_cut(shard, cuts_[shard]);
  ASSERT_EQ(journal_.count(1), 1U) << "it is known before the barrier opens";
  const control::CheckpointSaved first = saved(50);
  keeper().on_saved(50, first);
  keeper_.reset();  // It is lost.
  keeper().go_on_with(journal_[1], {.number = 1, .checkpoint = 1}, shards_);
  keeper().look_if_complete();
  keeper().tell_ended(7, 1);
  EXPECT_TRUE(told_.empty()) << "it is not over";
  keeper().tell_cut(7, 1);
  EXPECT_EQ(cuts_[7].number, 1U) << "to who did not hear";
  keeper().on_saved(50, first);
  keeper().on_saved(51, saved(51));
  EXPECT_THAT(ended_, IsEmpty());
  keeper().on_saved(7, {.number = 1});
  ASSERT_THAT(ended_, SizeIs(1));
  EXPECT_TRUE(ended_[0].why.ok()) << ended_[0].why.text();
  EXPECT_THAT(folder_.open(1).or_exit().files, SizeIs(2));
  keeper().tell_ended(7, 1);
  EXPECT_TRUE(told_.at(7).why.ok());
  EXPECT_EQ(told_.at(7).number, 1U);
}

TEST_F(CheckpointKeeperTest, OneThatWasCompletedLastIsFound) {
  make();
  keeper_.reset();
  saved_.reset();
  keeper().go_on_with(journal_[1], {.number = 1, .checkpoint = 1}, shards_);
  keeper().look_if_complete();
  EXPECT_EQ(saved_, 7U);
  keeper().tell_ended(7, 1);
  EXPECT_TRUE(told_.at(7).why.ok());
  make(2, 8);
  EXPECT_EQ(opened_.back().checkpoint, 2U);
  EXPECT_EQ(folder_.open(2).or_exit().origin.step, 8U);
}

TEST_F(CheckpointKeeperTest, AbortedCheckpointIsReportedOnRequest) {
  begin();
  for (const NodeId shard : shards_) keeper().on_cut(shard, cuts_[shard]);
  keeper().on_lost(50);
  keeper().on_saved(51, saved(51));
  EXPECT_TRUE(journal_.empty()) << "nobody is to go on with it";
  keeper_.reset();
  keeper().tell_ended(7, 1);
  EXPECT_EQ(told_.at(7).why.code(), Code::kCancelled);
}

TEST_F(CheckpointKeeperTest, LosingMemberAbortsCheckpoint) {
  begin();
  for (const NodeId shard : shards_) keeper().on_cut(shard, cuts_[shard]);
  keeper_.reset();
  keeper().go_on_with(journal_[1], {.number = 1, .checkpoint = 1}, shards_);
  keeper().on_lost(50);
  keeper().on_saved(51, saved(51));
  ASSERT_THAT(ended_, SizeIs(1));
  EXPECT_EQ(ended_[0].why.code(), Code::kPeerLost);
}

TEST_F(CheckpointKeeperTest, RestartedBarrierTellsWaitingWorkerItsCut) {
  workers_ = {7};
  begin();
  for (const NodeId shard : shards_) keeper().on_cut(shard, cuts_[shard]);
  keeper_.reset();
  cuts_.clear();
  opened_.clear();
  keeper().go_on_with(journal_[1], {.number = 1, .checkpoint = 1}, shards_);
  begin();  // The same barrier.
  ASSERT_THAT(opened_, SizeIs(1));
  EXPECT_EQ(opened_[0].checkpoint, 1U);
  EXPECT_EQ(cuts_.at(7).number, 1U);
  begin(2);  // Another, of the same step: it writes already.
  EXPECT_EQ(opened_.back().checkpoint, 1U);
}

}  // namespace
}  // namespace stretto

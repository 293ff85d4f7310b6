// SPDX-License-Identifier: Apache-2.0
// The notifications during a checkpoint, and the effects of a failed checkpoint.
#include "scheduler/checkpoint/checkpoint_keeper.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/scheduler/checkpoint_keeper_fixture.h"

namespace stretto {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

TEST_F(CheckpointKeeperTest, WorkersGoOnWhenAllShardsHaveCut) {
  begin();
  EXPECT_EQ(cuts_.size(), 2U);
  EXPECT_EQ(cuts_[50].step, 7U);
  keeper().on_cut(50, cuts_[50]);
  keeper().on_cut(50, cuts_[50]);
  keeper().on_cut(99, cuts_[50]);
  EXPECT_THAT(opened_, IsEmpty());
  keeper().on_cut(51, cuts_[51]);
  ASSERT_THAT(opened_, SizeIs(1));
  EXPECT_EQ(opened_[0].checkpoint, 1U);
  EXPECT_THAT(ended_, IsEmpty()) << "it is being written";
  EXPECT_FALSE(saved_);
}

TEST_F(CheckpointKeeperTest, ItIsCompleteWhenAllFilesAre) {
  make();
  ASSERT_THAT(ended_, SizeIs(1));
  EXPECT_EQ(ended_[0].number, opened_[0].checkpoint);
  EXPECT_TRUE(ended_[0].why.ok()) << ended_[0].why.text();
  EXPECT_EQ(saved_, 7U);
  const checkpoint::CheckpointManifest manifest = folder_.open(1).or_exit();
  EXPECT_EQ(manifest.origin, (checkpoint::CheckpointId{.job = 5, .number = 1, .step = 7}));
  EXPECT_THAT(manifest.files, SizeIs(2));
  EXPECT_EQ(manifest.workers, 0U);
}

TEST_F(CheckpointKeeperTest, ConcurrentRequestJoinsOpenCheckpoint) {
  begin(1);
  for (const NodeId shard : shards_) keeper().on_cut(shard, cuts_[shard]);
  begin(2);
  ASSERT_THAT(opened_, SizeIs(2));
  EXPECT_EQ(opened_[1].number, 2U);
  EXPECT_EQ(opened_[1].checkpoint, opened_[0].checkpoint);
  for (const NodeId shard : shards_) keeper().on_saved(shard, saved(shard));
  EXPECT_THAT(ended_, SizeIs(1));
  EXPECT_THAT(folder_.numbers().or_exit(), ElementsAre(1U));
}

TEST_F(CheckpointKeeperTest, RefusesOtherStepWhileWriting) {
  begin(1);
  for (const NodeId shard : shards_) keeper().on_cut(shard, cuts_[shard]);
  begin(2, 8);
  ASSERT_THAT(opened_, SizeIs(2));
  ASSERT_THAT(ended_, SizeIs(1));
  EXPECT_EQ(ended_[0].number, opened_[1].checkpoint);
  EXPECT_NE(ended_[0].number, opened_[0].checkpoint);
  EXPECT_EQ(ended_[0].why.code(), Code::kRefused);
  for (const NodeId shard : shards_) keeper().on_saved(shard, saved(shard));
  EXPECT_TRUE(ended_.at(1).why.ok()) << "the first goes on";
}

TEST_F(CheckpointKeeperTest, AShardThatFailsCostsTheCheckpoint) {
  begin();
  keeper().on_saved(50, {.number = 1, .why = {Code::kResource, "the disk is full"}});
  EXPECT_THAT(opened_, IsEmpty()) << "the other has not cut";
  keeper().on_cut(51, cuts_[51]);
  EXPECT_THAT(opened_, SizeIs(1));
  keeper().on_saved(51, saved(51));
  ASSERT_THAT(ended_, SizeIs(1));
  EXPECT_THAT(ended_[0].why.cause(), HasSubstr("full"));
  EXPECT_FALSE(folder_.open(1).ok());
  make(2);
  EXPECT_TRUE(ended_[1].why.ok()) << "the next one is another";
  EXPECT_EQ(cuts_[50].number, 2U) << "somebody may still write to what has gone";
  EXPECT_EQ(opened_[1].checkpoint, 2U);
}

TEST_F(CheckpointKeeperTest, ManifestWriteFailureFailsCheckpoint) {
  begin();
  for (const NodeId shard : shards_) keeper().on_cut(shard, cuts_[shard]);
  keeper().on_saved(50, saved(50));
  const control::CheckpointSaved last = saved(51);
  disk_.fail(sim::DiskCall::kSync, EIO);
  keeper().on_saved(51, last);
  ASSERT_THAT(ended_, SizeIs(1));
  EXPECT_FALSE(ended_[0].why.ok());
}

TEST_F(CheckpointKeeperTest, AFileThatIsNotOfTheFolderIsRefused) {
  begin();
  for (const NodeId shard : shards_) keeper().on_cut(shard, cuts_[shard]);
  keeper().on_saved(50, saved(50));
  control::CheckpointSaved elsewhere = saved(51);
  elsewhere.file = "../" + elsewhere.file;
  keeper().on_saved(51, elsewhere);
  ASSERT_THAT(ended_, SizeIs(1));
  EXPECT_EQ(ended_[0].why.code(), Code::kMalformed);
}

TEST_F(CheckpointKeeperTest, WithoutAFolderItSaysSoAndWorkersGoOn) {
  config_.checkpoint.folder = "";
  workers_ = {7};
  begin();
  ASSERT_THAT(opened_, SizeIs(1));
  ASSERT_THAT(ended_, SizeIs(1));
  EXPECT_EQ(ended_[0].number, opened_[0].checkpoint);
  EXPECT_EQ(ended_[0].why.code(), Code::kUnsupported);
  EXPECT_THAT(cuts_, IsEmpty()) << "nobody writes";
}

TEST_F(CheckpointKeeperTest, WorkersWriteAfterAllShardsCut) {
  workers_ = {9, 7};
  begin();
  keeper().on_cut(50, cuts_[50]);
  EXPECT_FALSE(cuts_.contains(9));
  keeper().on_cut(51, cuts_[51]);
  EXPECT_THAT(cuts_[9].workers, ElementsAre(9, 7)) << "by rank";
  EXPECT_TRUE(cuts_[7].alike);
  EXPECT_THAT(opened_, SizeIs(1));
  keeper().on_saved(50, saved(50));
  keeper().on_saved(51, saved(51));
  keeper().on_saved(9, saved(9, {{checkpoint::part_key("own", 0), "bytes"}}));
  EXPECT_THAT(ended_, IsEmpty());
  keeper().on_saved(7, {.number = 1});
  ASSERT_THAT(ended_, SizeIs(1));
  EXPECT_TRUE(ended_[0].why.ok()) << ended_[0].why.text();
  EXPECT_THAT(folder_.open(1).or_exit().files, SizeIs(3)) << "one had nothing to write";
  EXPECT_EQ(folder_.open(1).or_exit().workers, 2U);
}

TEST_F(CheckpointKeeperTest, WithoutServersWorkersWriteAtOnce) {
  shards_.clear();
  workers_ = {7};
  begin();
  ASSERT_THAT(opened_, SizeIs(1));
  keeper().on_saved(7, saved(7));
  EXPECT_TRUE(ended_.at(0).why.ok()) << ended_[0].why.text();
}

TEST_F(CheckpointKeeperTest, AWorkerThatIsLostCostsTheCheckpoint) {
  workers_ = {9, 7};
  begin();
  for (const NodeId shard : shards_) keeper().on_cut(shard, cuts_[shard]);
  for (const NodeId shard : shards_) keeper().on_saved(shard, saved(shard));
  keeper().on_saved(9, {.number = 1});
  keeper().on_lost(9);
  EXPECT_THAT(ended_, IsEmpty()) << "its part is there";
  keeper().on_lost(7);
  ASSERT_THAT(ended_, SizeIs(1));
  EXPECT_EQ(ended_[0].why.code(), Code::kPeerLost);
  keeper().on_lost(7);
  cuts_.clear();
  begin(2);
  keeper().on_lost(9);
  for (const NodeId shard : shards_) keeper().on_cut(shard, cuts_[shard]);
  for (const NodeId shard : shards_) keeper().on_saved(shard, saved(shard));
  keeper().on_saved(7, {.number = 2});
  EXPECT_EQ(ended_.at(1).why.code(), Code::kPeerLost) << "before the cut, too";
  EXPECT_FALSE(cuts_.contains(9)) << "who is lost is told nothing";
}

TEST_F(CheckpointKeeperTest, OneIsDueSoLongAfterTheLastWasBegun) {
  workers_ = {7};
  keeper().tick();
  clock_.advance_to(clock_.now() + 59s);
  keeper().tick();
  EXPECT_THAT(asked_, IsEmpty());
  begin();
  clock_.advance_to(clock_.now() + 59s);
  keeper().tick();
  EXPECT_THAT(asked_, IsEmpty()) << "the program has wanted one";
  clock_.advance_to(clock_.now() + 1s);
  keeper().tick();
  EXPECT_THAT(asked_, IsEmpty()) << "which is still being written";
  for (const NodeId shard : shards_) keeper().on_cut(shard, cuts_[shard]);
  for (const NodeId shard : shards_) keeper().on_saved(shard, saved(shard));
  keeper().on_saved(7, {.number = 1});
  ASSERT_THAT(ended_, SizeIs(1));
  keeper().tick();
  EXPECT_TRUE(asked_.at(7).checkpoint);
  keeper().on_told(7, {.number = asked_[7].number, .step = 4, .checkpoint = true});
  EXPECT_EQ(asked_[7].step, 5U) << "the next";
}

TEST_F(CheckpointKeeperTest, AFileOfAnotherMembersNameIsRefused) {
  workers_ = {7};
  begin();
  for (const NodeId shard : shards_) keeper().on_cut(shard, cuts_[shard]);
  for (const NodeId shard : shards_) keeper().on_saved(shard, saved(shard));
  keeper().on_saved(7, {.number = 1, .file = "server-50.parts"});
  EXPECT_EQ(ended_.at(0).why.code(), Code::kMalformed);
}

TEST_F(CheckpointKeeperTest, NextCheckpointKeepsUntouchedTensors) {
  make();
  go_on();
  EXPECT_EQ(config_.job.restored, 1U);
  EXPECT_EQ(config_.job.restored_step, 7U);
  EXPECT_THAT(restored_, ElementsAre("w"));
  const std::vector<TensorSpec> before = std::exchange(tensors_, {});
  for (const std::uint64_t barrier : {1UL, 2UL}) {
    begin(barrier);
    for (const NodeId shard : shards_) keeper().on_cut(shard, cuts_[shard]);
    for (const NodeId shard : shards_) keeper().on_saved(shard, saved(shard, {}));
    ASSERT_TRUE(ended_.back().why.ok()) << ended_.back().why.text();
  }
  const checkpoint::CheckpointManifest manifest = folder_.open(3).or_exit();
  EXPECT_EQ(manifest.tensors, before);
  EXPECT_THAT(manifest.files, SizeIs(3));
  EXPECT_THAT(folder_.numbers().or_exit(), ElementsAre(1U, 2U, 3U))
      << "what the job goes on from stays";
}

TEST_F(CheckpointKeeperTest, SourceFolderIsReadButNotModified) {
  make(1, 7);
  make(2, 8);
  go_on_elsewhere("run/ckpt-1");
  EXPECT_EQ(config_.job.restored, 1U);
  EXPECT_EQ(config_.job.restored_step, 7U);
  checkpoint::Folder elsewhere(disk_, "new");
  const std::vector<TensorSpec> before = std::exchange(tensors_, {});
  for (const std::uint64_t barrier : {1UL, 2UL, 3UL}) {
    begin(barrier, 10 + barrier);
    for (const NodeId shard : shards_) keeper().on_cut(shard, cuts_[shard]);
    for (const NodeId worker : shards_) {
      keeper().on_saved(worker, {.number = cuts_[worker].number});
    }
    ASSERT_TRUE(ended_.back().why.ok()) << ended_.back().why.text();
  }
  const checkpoint::CheckpointManifest last = elsewhere.open(3).or_exit();
  EXPECT_EQ(last.tensors, before) << "carried from one folder to the other, and then in it";
  EXPECT_EQ(last.from, 0U) << "that lies elsewhere";
  EXPECT_THAT(elsewhere.numbers().or_exit(), ElementsAre(2U, 3U)) << "nothing there is spared";
  EXPECT_THAT(folder_.numbers().or_exit(), ElementsAre(1U, 2U));
}

TEST_F(CheckpointKeeperTest, AnOlderOneOfItsOwnFolderIsLeftBehindByNewOnes) {
  make(1, 7);
  make(2, 8);
  config_.checkpoint.source = "run/ckpt-1";
  go_on();
  EXPECT_EQ(config_.job.restored, 1U);
  make(1, 9);
  EXPECT_THAT(folder_.numbers().or_exit(), ElementsAre(1U, 2U, 3U));
  EXPECT_EQ(folder_.open(3).or_exit().from, 1U);
  make(2, 10);
  EXPECT_THAT(folder_.numbers().or_exit(), ElementsAre(1U, 3U, 4U));
  config_.checkpoint.source.clear();
  go_on();
  EXPECT_EQ(config_.job.restored, 4U) << "the newest is its own";
  EXPECT_EQ(config_.job.restored_step, 10U);
}

TEST_F(CheckpointKeeperTest, JobWithoutFolderResumesAndSavesNothing) {
  make(1, 7);
  config_.checkpoint = {.folder = "", .source = "run"};
  go_on();
  EXPECT_EQ(config_.job.restored_step, 7U);
  begin();
  EXPECT_EQ(ended_.back().why.code(), Code::kUnsupported);
  EXPECT_THAT(folder_.numbers().or_exit(), ElementsAre(1U));
}

TEST_F(CheckpointKeeperTest, AFolderThatWasNamedAndHasNoneEndsTheJob) {
  config_.checkpoint.source = "old";
  std::set<std::string> restored;
  const Status status = go_on_from_newest(config_, disk_, restored);
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_THAT(status.cause(), HasSubstr("go on from 'old'"));
}

TEST_F(CheckpointKeeperTest, NextDueTimeFollowsLastHoldTime) {
  config_.checkpoint.chooses_every = true;
  workers_ = {7, 8};
  keeper().tick();
  EXPECT_EQ(keeper().next_due(clock_.now()), clock_.now() + 60s) << "nothing is known yet";
  make();
  for (const NodeId worker : workers_) {
    keeper().on_saved(worker, {.number = cuts_[50].number});
    keeper().on_told(worker, {.checkpoint = true, .held_us = 2'000'000});
  }
  ASSERT_TRUE(ended_.back().why.ok());
  EXPECT_EQ(keeper().next_due(clock_.now()), clock_.now() + 240s);
}

TEST_F(CheckpointKeeperTest, FailedCarryOverKeepsOldCheckpoint) {
  make();
  go_on();
  damage(folder_.path_of(1, "server-50.parts"));
  for (const std::uint64_t barrier : {1UL, 2UL, 3UL}) {
    begin(barrier);
    for (const NodeId shard : shards_) keeper().on_cut(shard, cuts_[shard]);
    for (const NodeId shard : shards_) keeper().on_saved(shard, saved(shard, {}));
    EXPECT_THAT(ended_.back().why.cause(), HasSubstr("since checkpoint 1 cannot be taken over"));
  }
  EXPECT_THAT(folder_.numbers().or_exit(), ElementsAre(1U));
}

TEST_F(CheckpointKeeperTest, CheckpointFollowsRemovedOnes) {
  make(1);
  remove_checkpoint(1);
  make(2);
  ASSERT_TRUE(ended_.back().why.ok()) << ended_.back().why.text();
  EXPECT_THAT(folder_.open(2).or_exit().tensors, SizeIs(1));
}

// Parts that no worker has used since the restart are the same in the original checkpoint.
TEST_F(CheckpointKeeperTest, CheckpointTakesOverFromItsOrigin) {
  make();
  go_on();
  const std::vector<TensorSpec> before = std::exchange(tensors_, {});
  for (const std::uint64_t barrier : {1UL, 2UL}) {
    begin(barrier);
    for (const NodeId shard : shards_) keeper().on_cut(shard, cuts_[shard]);
    for (const NodeId shard : shards_) keeper().on_saved(shard, saved(shard, {}));
    ASSERT_TRUE(ended_.back().why.ok()) << ended_.back().why.text();
    if (barrier == 1) remove_checkpoint(2);
  }
  EXPECT_EQ(folder_.open(3).or_exit().tensors, before);
}

TEST_F(CheckpointKeeperTest, CheckpointWarnsOfLostTensors) {
  TensorSpec idle = tensors_.front();
  idle.name = "idle";
  tensors_.push_back(idle);
  begin();
  for (const NodeId shard : shards_) keeper().on_cut(shard, cuts_[shard]);
  for (const NodeId shard : shards_) {
    keeper().on_saved(shard, saved(shard, {{checkpoint::part_key("w", shard), "bytes"},
                                           {checkpoint::part_key("idle", shard), "bytes"}}));
  }
  go_on();
  tensors_.pop_back();
  remove_checkpoint(1);
  testing::internal::CaptureStderr();
  make(1);
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              HasSubstr("checkpoint 2 lacks 1 tensors, such as 'idle'"));
  ASSERT_TRUE(ended_.back().why.ok()) << ended_.back().why.text();
}

TEST_F(CheckpointKeeperTest, RefusesStartWithoutLastMadeCheckpoint) {
  make(1);
  make(2);
  config_.checkpoint.made = 2;
  EXPECT_TRUE(go_on_from_newest(config_, disk_, restored_).ok());
  damage(folder_.path_of(2, "server-50.parts"));
  EXPECT_TRUE(go_on_from_newest(config_, disk_, restored_).ok()) << "with a warning";
  EXPECT_EQ(config_.job.restored, 1U);
  remove_checkpoint(2);
  Status status = go_on_from_newest(config_, disk_, restored_);
  EXPECT_EQ(status.code(), Code::kMalformed);
  EXPECT_THAT(status.cause(), HasSubstr("has made checkpoint 2, which is not in 'run' any more: "
                                        "the newest is checkpoint 1"));
  remove_checkpoint(1);
  ASSERT_TRUE(disk_.remove("run/LATEST").ok());
  status = go_on_from_newest(config_, disk_, restored_);
  EXPECT_THAT(status.cause(), HasSubstr("bring checkpoint 2 back"));
  config_.checkpoint.made = 0;
  EXPECT_TRUE(go_on_from_newest(config_, disk_, restored_).ok());
}

TEST_F(CheckpointKeeperTest, SkipsDamagedCheckpoint) {
  make(1);
  make(2);
  damage(folder_.path_of(2, "server-50.parts"));
  go_on();
  EXPECT_EQ(config_.job.restored, 1U);
}

TEST_F(CheckpointKeeperTest, WhereAllAreDamagedTheJobDoesNotBeginAnew) {
  std::set<std::string> restored;
  EXPECT_TRUE(go_on_from_newest(config_, disk_, restored).ok()) << "there is none";
  begin();
  EXPECT_TRUE(go_on_from_newest(config_, disk_, restored).ok()) << "none was finished";
  keeper_.reset();
  make();
  damage(folder_.path_of(cuts_[50].number, "server-50.parts"));
  const Status status = go_on_from_newest(config_, disk_, restored);
  EXPECT_EQ(status.code(), Code::kMalformed);
  EXPECT_THAT(status.cause(), HasSubstr("--resume no"));
  config_.checkpoint.resumes = false;
  EXPECT_TRUE(go_on_from_newest(config_, disk_, restored).ok());
}

TEST_F(CheckpointKeeperTest, PartsLargerThanThisJobBearsAreToldOf) {
  make();
  config_.job.part_bytes /= 2;
  std::set<std::string> restored;
  const Status status = go_on_from_newest(config_, disk_, restored);
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_THAT(status.cause(), HasSubstr("set STRETTO_PART_BYTES=262144"));
  EXPECT_THAT(status.cause(), HasSubstr("begin anew (--resume no)"));
  config_.checkpoint.source = std::exchange(config_.checkpoint.folder, "");
  EXPECT_THAT(go_on_from_newest(config_, disk_, restored).cause(),
              HasSubstr("begin anew (without --resume)"));
}

TEST_F(CheckpointKeeperTest, WhereServersKeepNothingThereIsNone) {
  begin();
  for (const NodeId shard : shards_) keeper().on_cut(shard, cuts_[shard]);
  for (const NodeId shard : shards_) keeper().on_saved(shard, saved(shard, {}));
  EXPECT_EQ(ended_.at(0).why.code(), Code::kInvalidArgument);
  EXPECT_THAT(ended_[0].why.cause(), HasSubstr("there is nothing to save"));
  EXPECT_THAT(folder_.numbers().or_exit(), IsEmpty()) << "what was written of it has gone";
}

TEST_F(CheckpointKeeperTest, WithdrawalBeforeCutFailsCheckpoint) {
  begin();
  keeper().on_cut(50, cuts_[50]);
  keeper().withdraw(1);
  keeper().on_cut(51, cuts_[51]);
  EXPECT_THAT(opened_, SizeIs(1)) << "the others go on";
  for (const NodeId shard : shards_) keeper().on_saved(shard, saved(shard));
  EXPECT_EQ(ended_.at(0).why.code(), Code::kTimeout);
  begin(2);
  for (const NodeId shard : shards_) keeper().on_cut(shard, cuts_[shard]);
  keeper().withdraw(2);
  for (const NodeId shard : shards_) keeper().on_saved(shard, saved(shard));
  EXPECT_TRUE(ended_.at(1).why.ok()) << "all had cut before";
}

}  // namespace
}  // namespace stretto

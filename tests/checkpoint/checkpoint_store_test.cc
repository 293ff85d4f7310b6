// SPDX-License-Identifier: Apache-2.0
// A folder of checkpoints: which is the newest, what is removed, and what a damaged one costs.
#include "checkpoint/checkpoint_store.h"

#include <errno.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/checkpoint/files.h"
#include "tests/sim/sim_disk.h"

namespace stretto::checkpoint {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

const std::string kFile = "server-0.0.parts";

class FolderTest : public testing::Test {
 protected:
  FolderTest() { folder_.make().or_exit(); }
  std::uint64_t make(const std::string& text = "bytes", std::uint64_t job = 1,
                     std::uint64_t from = 0) {
    const std::uint64_t number = folder_.begin().or_exit();
    const CheckpointId origin{.job = job, .number = number};
    const FileDigest seal =
        write_file(disk_, folder_.path_of(number, kFile), origin, {{part_key("w", 0), text}})
            .or_exit();
    folder_
        .commit({.origin = origin,
                 .part_bytes = 1,
                 .from = from,
                 .files = {{.name = kFile, .seal = seal, .entries = 1}}})
        .or_exit();
    return number;
  }
  std::unique_ptr<FileHold> hold(const std::string& who) { return folder_.hold(who).or_exit(); }
  std::uint64_t newest() {
    const Folder::Found found = folder_.newest().or_exit();
    return found.newest ? found.newest->origin.number : 0;
  }
  void damage(const std::string& path) {
    const std::unique_ptr<File> file = disk_.open(path, Open::kWrite).or_exit();
    const std::byte wrong{0xa5};
    ASSERT_TRUE(file->write(file->size().or_exit() - 9, {&wrong, 1}).ok());
  }

  sim::SimDisk disk_{1};
  Folder folder_{disk_, "run"};
};

TEST_F(FolderTest, TheNewestCompleteOneIsFound) {
  EXPECT_EQ(make(), 1U);
  EXPECT_EQ(make(), 2U);
  EXPECT_EQ(folder_.begin().or_exit(), 3U);
  EXPECT_EQ(folder_.begin(7).or_exit(), 8U) << "7 has gone, and may still be written to";
  folder_.abandon(8).or_exit();
  const Folder::Found found = folder_.newest().or_exit();
  EXPECT_EQ(found.newest->origin.number, 2U);
  ASSERT_THAT(found.refused, SizeIs(1));
  EXPECT_EQ(found.refused[0].number, 3U);
  EXPECT_THAT(found.refused[0].why.cause(), HasSubstr("writing was not finished"));
}

TEST_F(FolderTest, ADamagedOneIsPassedOverAndNamed) {
  make();
  make();
  damage(folder_.path_of(2, kFile));
  const Folder::Found found = folder_.newest().or_exit();
  EXPECT_EQ(found.newest->origin.number, 1U);
  ASSERT_THAT(found.refused, SizeIs(1));
  EXPECT_THAT(found.refused[0].why.cause(), HasSubstr("run/ckpt-2/server-0.0.parts"));
  damage(folder_.path_of(1, "MANIFEST"));
  EXPECT_EQ(newest(), 0U);
}

TEST_F(FolderTest, LatestTargetCountsAsOnceComplete) {
  make();
  make();
  ASSERT_TRUE(disk_.remove(folder_.path_of(1, "MANIFEST")).ok());
  ASSERT_TRUE(disk_.remove(folder_.path_of(2, "MANIFEST")).ok());
  Folder::Found found = folder_.newest().or_exit();
  EXPECT_FALSE(found.newest);
  ASSERT_THAT(found.refused, SizeIs(2));
  EXPECT_EQ(found.refused[0].number, 2U);
  EXPECT_TRUE(found.refused[0].was_complete);
  EXPECT_THAT(found.refused[0].why.cause(), HasSubstr("not there any more"));
  EXPECT_FALSE(found.refused[1].was_complete);
  ASSERT_TRUE(disk_.remove(folder_.path_of(2, kFile)).ok());
  ASSERT_TRUE(disk_.remove(folder_.path_of(2)).ok());
  found = folder_.newest().or_exit();
  ASSERT_THAT(found.refused, SizeIs(2));
  EXPECT_TRUE(found.refused[0].was_complete) << "half of a volume";
}

TEST_F(FolderTest, AbandonedCheckpointIsNotLatest) {
  make();
  folder_.abandon(1).or_exit();
  const Folder::Found found = folder_.newest().or_exit();
  EXPECT_FALSE(found.newest);
  EXPECT_THAT(found.refused, SizeIs(0));
}

TEST_F(FolderTest, SkipsCheckpointsOutsideJobLineage) {
  make("bytes", 1);
  make("bytes", 1);
  make("bytes", 2, 1);  // Job 2 has gone on from the first one.
  make("bytes", 2, 1);
  make("bytes", 3, 4);  // And job 3 from there.
  EXPECT_EQ(newest(), 5U);
  damage(folder_.path_of(5, kFile));
  EXPECT_EQ(newest(), 4U);
  damage(folder_.path_of(4, kFile));
  EXPECT_EQ(newest(), 3U);
  damage(folder_.path_of(3, kFile));
  const Folder::Found found = folder_.newest().or_exit();
  EXPECT_EQ(found.newest->origin.number, 1U);
  ASSERT_THAT(found.refused, SizeIs(4));
  EXPECT_EQ(found.refused[3].number, 2U);
  EXPECT_THAT(found.refused[3].why.cause(), HasSubstr("went on from checkpoint 1"));
}

TEST_F(FolderTest, AFileThatIsMissingOrOfAnotherOneIsNotTaken) {
  make("one");
  make("two");
  ASSERT_TRUE(disk_.remove(folder_.path_of(2, kFile)).ok());
  EXPECT_EQ(newest(), 1U);
  const CheckpointId other{.job = 1, .number = 1};
  ASSERT_TRUE(
      write_file(disk_, folder_.path_of(2, kFile), other, {{part_key("w", 0), "two"}}).ok());
  EXPECT_EQ(newest(), 1U);
}

TEST_F(FolderTest, TheNewestStay) {
  for (int i = 0; i < 4; ++i) make();
  ASSERT_TRUE(folder_.prune().ok());
  EXPECT_THAT(folder_.numbers().or_exit(), ElementsAre(3U, 4U));
  ASSERT_TRUE(folder_.prune(0).ok());
  EXPECT_THAT(folder_.numbers().or_exit(), ElementsAre(4U)) << "one stays whatever is asked for";
  EXPECT_EQ(make(), 5U);
}

TEST_F(FolderTest, PrunesUnfinishedAfterNewerCompletes) {
  make();
  folder_.begin().or_exit();
  ASSERT_TRUE(folder_.prune().ok());
  EXPECT_THAT(folder_.numbers().or_exit(), ElementsAre(1U, 2U)) << "it may be being written";
  make();
  ASSERT_TRUE(folder_.prune().ok());
  EXPECT_THAT(folder_.numbers().or_exit(), ElementsAre(1U, 3U));
}

TEST_F(FolderTest, ADamagedOneIsNotCountedAndNotRemoved) {
  make();
  make();
  make();
  damage(folder_.path_of(3, kFile));
  ASSERT_TRUE(folder_.prune().ok());
  EXPECT_THAT(folder_.numbers().or_exit(), ElementsAre(1U, 2U, 3U));
}

TEST_F(FolderTest, OneThatIsSparedStays) {
  for (int i = 0; i < 4; ++i) make();
  ASSERT_TRUE(folder_.prune(2, 1).ok());
  EXPECT_THAT(folder_.numbers().or_exit(), ElementsAre(1U, 3U, 4U));
  ASSERT_TRUE(folder_.abandon(4).ok());
  EXPECT_THAT(folder_.numbers().or_exit(), ElementsAre(1U, 3U));
}

TEST_F(FolderTest, EntriesAreLookedAtIfThatIsAskedFor) {
  make();
  make();
  {
    const auto file = disk_.open(folder_.path_of(2, kFile), Open::kWrite).or_exit();
    const std::byte wrong{1};
    ASSERT_TRUE(file->write(64, {&wrong, 1}).ok());
  }
  EXPECT_EQ(newest(), 2U);
  const Folder::Found found = folder_.newest(VerifyDepth::kAll).or_exit();
  EXPECT_EQ(found.newest->origin.number, 1U);
  EXPECT_THAT(found.refused.at(0).why.cause(), HasSubstr("part 0 of tensor 'w'"));
}

TEST_F(FolderTest, IgnoresForeignFolderNames) {
  make();
  for (const char* name : {"run/ckpt-0", "run/ckpt-02", "run/ckpt-x", "run/ckpt-", "run/mine"}) {
    ASSERT_TRUE(disk_.make_folder(name).ok());
  }
  EXPECT_THAT(folder_.numbers().or_exit(), ElementsAre(1U));
  make();
  make();
  ASSERT_TRUE(folder_.prune().ok());
  EXPECT_THAT(disk_.list("run", 100).or_exit(), ElementsAre("LATEST", "ckpt-", "ckpt-0", "ckpt-02",
                                                            "ckpt-2", "ckpt-3", "ckpt-x", "mine"));
}

TEST_F(FolderTest, ReportsLostLatestAndSkipsItsNumber) {
  make();
  make();
  ASSERT_TRUE(
      replace_file(disk_, "run/LATEST", std::as_bytes(std::span("ckpt-7", 6)), Durability::kMachine)
          .ok());
  const Folder::Found found = folder_.newest(VerifyDepth::kAll).or_exit();
  EXPECT_EQ(found.newest->origin.number, 2U);
  ASSERT_EQ(found.refused.size(), 1U);
  EXPECT_TRUE(found.refused[0].is_gone);
  EXPECT_THAT(found.refused[0].why.cause(), HasSubstr("checkpoint 7 was complete, and it is not"));
  EXPECT_EQ(make(), 8U);
  EXPECT_TRUE(folder_.newest(VerifyDepth::kAll).or_exit().refused.empty());
}

TEST_F(FolderTest, AnEmptyFolderHasNone) {
  EXPECT_EQ(newest(), 0U);
  EXPECT_THAT(folder_.numbers().or_exit(), IsEmpty());
  EXPECT_TRUE(folder_.prune().ok());
}

TEST_F(FolderTest, AFolderIsMadeOnceAndItsNameIsOnTheDevice) {
  Folder other(disk_, "other");
  EXPECT_FALSE(other.newest().ok()) << "there is no such folder yet";
  disk_.fail(sim::DiskCall::kSync, EIO);
  EXPECT_FALSE(other.make().ok());
  EXPECT_FALSE(disk_.exists("other").or_exit());
  EXPECT_TRUE(other.make().ok());
  EXPECT_TRUE(other.make().ok());
  disk_.restart(sim::Crash::kMachine);
  EXPECT_TRUE(other.newest().ok());
}

TEST_F(FolderTest, FolderIsMadeWithItsParents) {
  Folder nested(disk_, "runs/today/exp1/");
  ASSERT_TRUE(nested.make().ok());
  EXPECT_EQ(nested.begin().or_exit(), 1U);
  disk_.restart(sim::Crash::kMachine);
  EXPECT_TRUE(disk_.exists("runs/today/exp1").or_exit());
  EXPECT_TRUE(nested.make().ok());
}

TEST_F(FolderTest, CheckpointIsPresentOnlyWithAllFiles) {
  make();
  EXPECT_TRUE(folder_.is_there(1).or_exit());
  EXPECT_FALSE(folder_.is_there(2).or_exit());
  const std::string file = folder_.open(1).or_exit().files.front().name;
  ASSERT_TRUE(disk_.remove(folder_.path_of(1, file)).ok());
  EXPECT_FALSE(folder_.is_there(1).or_exit());
}

TEST_F(FolderTest, FailedCommitChangesNothing) {
  make();
  const std::uint64_t number = folder_.begin().or_exit();
  disk_.fail(sim::DiskCall::kSync, EIO);
  EXPECT_FALSE(folder_.commit({.origin = {.number = number}, .part_bytes = 1}).ok());
  EXPECT_EQ(newest(), 1U);
}

TEST_F(FolderTest, IsForOneAtATime) {
  std::unique_ptr<FileHold> first = hold("a job with a long name");
  ASSERT_NE(first, nullptr);
  const Result<std::unique_ptr<FileHold>> second = Folder(disk_, "run").hold("another");
  EXPECT_EQ(second.status().code(), Code::kInvalidArgument);
  EXPECT_THAT(second.status().cause(),
              HasSubstr("'run' is in use by a job with a long name; wait until that has ended"));
  first.reset();
  first = hold("a tool");
  ASSERT_NE(first, nullptr);
  EXPECT_THAT(folder_.hold("one more").status().cause(), HasSubstr("in use by a tool; wait"));
  disk_.restart(sim::Crash::kProcess);
  EXPECT_NE(hold("whoever comes next"), nullptr) << "who held it is gone";
  EXPECT_THAT(folder_.numbers().or_exit(), IsEmpty());
}

TEST_F(FolderTest, HoldExcludesNoJobWithoutLocks) {
  disk_.fail(sim::DiskCall::kLook, ENOLCK);
  EXPECT_EQ(hold("a job"), nullptr);
  disk_.fail(sim::DiskCall::kLook, EIO);
  EXPECT_EQ(folder_.hold("a job").status().code(), Code::kResource);
  disk_.make_folder("run/.stretto-held").or_exit();
  EXPECT_EQ(folder_.hold("a job").status().code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace stretto::checkpoint

// SPDX-License-Identifier: Apache-2.0
// What a path says that a user gave, and what is said of one that leads nowhere.
#include "checkpoint/resume_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/checkpoint/files.h"
#include "tests/sim/sim_disk.h"

namespace stretto::checkpoint {
namespace {

using testing::HasSubstr;

const std::string kPartsFile = "server-0.0.parts";

CheckpointSettings settings(const std::string& folder, const std::string& source) {
  return {.folder = folder, .source = source};
}

TEST(ResumeSource, IsTheFolderOfTheJobUnlessAnotherOneIsNamed) {
  const ResumeSource own = source_of(settings("/run", ""));
  EXPECT_EQ(own.folder, "/run");
  EXPECT_EQ(own.number, 0U);
  EXPECT_TRUE(own.is_saved_to);
  EXPECT_FALSE(own.is_named);
  const ResumeSource other = source_of(settings("/run", "old/"));
  EXPECT_EQ(other.folder, "old");
  EXPECT_EQ(other.number, 0U);
  EXPECT_FALSE(other.is_saved_to);
  EXPECT_TRUE(other.is_named);
}

TEST(ResumeSource, ACheckpointIsToldFromAFolderByItsName) {
  const ResumeSource one = source_of(settings("/run", "old/x/../ckpt-17/"));
  EXPECT_EQ(one.folder, "old");
  EXPECT_EQ(one.number, 17U);
  EXPECT_FALSE(one.is_saved_to);
  EXPECT_EQ(source_of(settings("", "ckpt-17")).folder, ".");
  EXPECT_EQ(source_of(settings("", "old/ckpt-017")).folder, "old/ckpt-017");
  EXPECT_EQ(source_of(settings("", "/ckpt-3")).folder, "/");
  const ResumeSource own = source_of(settings("/run/", "/run/ckpt-2"));
  EXPECT_EQ(own.number, 2U);
  EXPECT_TRUE(own.is_saved_to);
  EXPECT_EQ(own.folder, "/run/");
}

TEST(ResumeSource, TwoPathsMayLeadToTheFolderOfTheJob) {
  const std::filesystem::path here = std::filesystem::path(testing::TempDir()) / "resume_source";
  std::filesystem::remove_all(here);
  std::filesystem::create_directories(here / "run");
  std::filesystem::create_directory_symlink("run", here / "link");
  const std::string folder = (here / "run").string();
  const ResumeSource linked = source_of(settings(folder, (here / "link" / "ckpt-2").string()));
  EXPECT_TRUE(linked.is_saved_to);
  EXPECT_EQ(linked.folder, folder);
  EXPECT_EQ(linked.number, 2U);
  EXPECT_FALSE(source_of(settings(folder, (here / "none").string())).is_saved_to);
}

class FoundSource : public testing::Test {
 protected:
  FoundSource() { folder_.make().or_exit(); }
  void make(std::uint64_t number, bool commits = true) {
    disk_.make_folder(folder_.path_of(number)).or_exit();
    const CheckpointId origin{.job = 1, .number = number};
    const FileDigest seal = write_file(disk_, folder_.path_of(number, kPartsFile), origin,
                                       {{part_key("w", 0), "bytes"}})
                                .or_exit();
    if (!commits) return;
    folder_
        .commit({.origin = origin,
                 .part_bytes = 1,
                 .files = {{.name = kPartsFile, .seal = seal, .entries = 1}}})
        .or_exit();
  }
  void damage(std::uint64_t number) {
    const auto file = disk_.open(folder_.path_of(number, kPartsFile), Open::kWrite).or_exit();
    const std::byte wrong{0xa5};
    ASSERT_TRUE(file->write(64, {&wrong, 1}).ok());
  }
  Result<Folder::Found> found(const std::string& path) {
    const ResumeSource source = source_of(settings("elsewhere", path));
    Folder folder(disk_, source.folder);
    return find(folder, disk_, source);
  }
  std::uint64_t number(const std::string& path) {
    return found(path).or_exit().newest->origin.number;
  }
  void refuses(const std::string& path, const std::string& why) {
    const Status status = found(path).status();
    EXPECT_EQ(status.code(), Code::kInvalidArgument);
    EXPECT_THAT(status.cause(), HasSubstr("go on from '" + path + "' (--resume"));
    EXPECT_THAT(status.cause(), HasSubstr(why));
    EXPECT_THAT(status.cause(), HasSubstr("wanted auto, no, a folder of checkpoints, or one"));
  }

  sim::SimDisk disk_{1};
  Folder folder_{disk_, "run"};
};

TEST_F(FoundSource, IsTheNewestOfAFolderOrTheOneThatIsNamed) {
  make(1);
  make(3);
  make(4, false);
  EXPECT_EQ(number("run"), 3U);
  EXPECT_EQ(number("run/ckpt-1"), 1U);
  EXPECT_EQ(number("run/ckpt-3"), 3U);
  damage(3);
  EXPECT_EQ(number("run"), 1U) << "as where no path is given";
}

TEST_F(FoundSource, RefusalExplainsUnusableSource) {
  refuses("none", "nothing is there");
  refuses("run", "no complete checkpoint is in it");
  make(2);
  make(4, false);
  refuses("run/ckpt-3", "nothing is there");
  refuses("run/ckpt-4", "writing was not finished (in 'run' are complete: 2)");
  refuses("run/ckpt-2/MANIFEST", "it cannot be read: ");
  damage(2);
  refuses("run/ckpt-2", "it cannot be used: ");
  refuses("run", "no checkpoint in it can be used, the newest because: ");
}

}  // namespace
}  // namespace stretto::checkpoint

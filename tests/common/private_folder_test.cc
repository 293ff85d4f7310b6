// SPDX-License-Identifier: Apache-2.0
// What others may have prepared at a path that they can guess.
#include "common/files/private_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace stretto {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class PrivateFolderTest : public testing::Test {
 protected:
  PrivateFolderTest() : old_mask_(::umask(0)) { std::filesystem::create_directory(root_); }
  ~PrivateFolderTest() override {
    ::umask(old_mask_);
    std::filesystem::remove_all(root_);
  }

  std::string refusal(bool make = true) const {
    const Result<Descriptor> folder = open_private_folder(path_, make);
    return folder.ok() ? "" : folder.status().cause();
  }
  static mode_t mode_of(const std::string& path) {
    struct stat found{};
    return ::lstat(path.c_str(), &found) == 0 ? found.st_mode & 07777 : 0;
  }

  const mode_t old_mask_;
  const std::string root_ = testing::TempDir() + "private_folder_" + std::to_string(::getpid());
  const std::string path_ = root_ + "/own";
};

TEST_F(PrivateFolderTest, MadeForItsUserAlone) {
  EXPECT_THAT(refusal(false), HasSubstr("cannot be opened"));
  EXPECT_EQ(refusal(), "");
  EXPECT_EQ(mode_of(path_), 0700U);
  EXPECT_EQ(refusal(), "") << "one that is there is taken";
}

TEST_F(PrivateFolderTest, RejectsFolderOfAnotherUser) {
  std::string path = "/usr";  // Root's, if we are not root.
  if (::geteuid() == 0) {
    path = path_;
    std::filesystem::create_directory(path);
    ASSERT_EQ(::chmod(path.c_str(), 0700), 0);
    ASSERT_EQ(::chown(path.c_str(), 12345, 12345), 0);
  }
  const Result<Descriptor> folder = open_private_folder(path, true);
  EXPECT_THAT(folder.status().cause(), HasSubstr("belongs to another user (uid "));
}

TEST_F(PrivateFolderTest, ALinkIsNotFollowed) {
  std::filesystem::create_directory(root_ + "/elsewhere");
  std::filesystem::create_symlink(root_ + "/elsewhere", path_);
  EXPECT_THAT(refusal(), HasSubstr("cannot be opened as a folder"));
}

TEST_F(PrivateFolderTest, AFolderThatIsOpenToOthersIsRefused) {
  std::filesystem::create_directory(path_);
  ASSERT_EQ(::chmod(path_.c_str(), 0711), 0);
  EXPECT_THAT(refusal(), HasSubstr("is open to others (mode 0711)"));
  std::filesystem::remove(path_);
  std::ofstream(path_) << "a file";
  EXPECT_THAT(refusal(), HasSubstr("cannot be opened as a folder"));
}

TEST_F(PrivateFolderTest, FilesAreReadableByTheirUserAlone) {
  const Result<Descriptor> folder = open_private_folder(path_, true);
  ASSERT_TRUE(folder.ok());
  ASSERT_TRUE(write_private_file(*folder, "b", "first").ok());
  ASSERT_TRUE(write_private_file(*folder, "b", "second\n").ok());
  ASSERT_TRUE(write_private_file(*folder, "a", "").ok());
  EXPECT_EQ(mode_of(path_ + "/b"), 0600U);
  EXPECT_EQ(*read_private_file(*folder, "b", 7), "second\n");
  EXPECT_FALSE(read_private_file(*folder, "b", 6).ok()) << "longer than is wanted";
  EXPECT_FALSE(read_private_file(*folder, "c", 10).ok());
  EXPECT_THAT(names_in(*folder, 10), ElementsAre("a", "b")) << "and no draft";
  EXPECT_EQ(names_in(*folder, 1).size(), 1U);
}

TEST_F(PrivateFolderTest, FilesThatAreNotOursAreNotRead) {
  const Result<Descriptor> folder = open_private_folder(path_, true);
  ASSERT_TRUE(write_private_file(*folder, "real", "secret").ok());
  std::filesystem::create_symlink(path_ + "/real", path_ + "/link");
  std::filesystem::create_directory(path_ + "/folder");
  ASSERT_EQ(::mkfifo((path_ + "/pipe").c_str(), 0600), 0);
  std::ofstream(path_ + "/open") << "text";
  for (const char* name : {"link", "folder", "pipe", "open"}) {
    EXPECT_FALSE(read_private_file(*folder, name, 100).ok()) << name;
  }
}

TEST_F(PrivateFolderTest, ARuntimeFolderMustBeTheUsersOwn) {
  EXPECT_TRUE(is_own_folder(root_) == ((mode_of(root_) & 022) == 0));
  ASSERT_EQ(::chmod(root_.c_str(), 0755), 0);
  EXPECT_TRUE(is_own_folder(root_));
  ASSERT_EQ(::chmod(root_.c_str(), 01777), 0);
  EXPECT_FALSE(is_own_folder(root_));
  EXPECT_FALSE(is_own_folder("/nowhere"));
  EXPECT_FALSE(is_own_folder("relative"));
}

}  // namespace
}  // namespace stretto

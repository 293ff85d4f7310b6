// SPDX-License-Identifier: Apache-2.0
// The host registry's file: reopened, refused if invalid, removed by its last user; and a killed
// process's entry is reused.
#include "van/host_window/host_registry_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace stretto::host {
namespace {

using testing::HasSubstr;

constexpr Time kFileNow{std::chrono::hours(1)};

class HostRegistryFileTest : public testing::Test {
 protected:
  HostRegistryFileTest() { EXPECT_NE(::mkdtemp(folder_.data()), nullptr); }
  ~HostRegistryFileTest() override { std::filesystem::remove_all(folder_); }

  std::string path() const { return folder_ + "/seats"; }
  void write(std::size_t bytes, char with) {
    std::ofstream(path(), std::ios::binary) << std::string(bytes, with);
    ASSERT_EQ(::chmod(path().c_str(), 0600), 0);
  }
  void expect_refused(std::string_view why) {
    const Result<HostRegistryFile> file = HostRegistryFile::open(path());
    ASSERT_FALSE(file.ok());
    EXPECT_THAT(file.status().cause(), HasSubstr(std::string(why)));
    EXPECT_THAT(file.status().cause(), HasSubstr(path()));
  }

  std::string folder_ = std::string(kSharedMemory) + "/seats-test-XXXXXX";
  const ProcessMark mine_ = own_mark();
};

TEST_F(HostRegistryFileTest, IsFoundByTheNext) {
  const Result<HostRegistryFile> first = HostRegistryFile::open(path());
  ASSERT_TRUE(first.ok()) << first.status().text();
  const Result<HostRegistryFile> second = HostRegistryFile::open(path());
  ASSERT_TRUE(second.ok()) << second.status().text();
  EXPECT_EQ(first->seats().take(mine_, life_of, kFileNow), 0U);
  EXPECT_EQ(second->seats().take(mine_, life_of, kFileNow), 1U);
  struct stat found{};
  ASSERT_EQ(::stat(path().c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 07777, 0600U);
}

TEST_F(HostRegistryFileTest, IsRefusedWhereItIsNotOurs) {
  write(sizeof(SeatsLayout), 0);
  ASSERT_EQ(::chmod(path().c_str(), 0660), 0);
  expect_refused("has mode 0660");
  std::filesystem::remove(path());
  std::filesystem::create_symlink(folder_ + "/elsewhere", path());
  expect_refused("cannot be opened");
  EXPECT_FALSE(std::filesystem::exists(folder_ + "/elsewhere"));
  std::filesystem::remove(path());
  std::filesystem::create_directory(path());
  expect_refused("cannot be opened");
  std::filesystem::remove(path());
  ASSERT_EQ(::mkfifo(path().c_str(), 0600), 0);
  expect_refused("is no regular file");
  std::filesystem::remove(path());
  write(sizeof(SeatsLayout), 0);
  std::filesystem::create_hard_link(path(), folder_ + "/another");
  expect_refused("2 names");
}

TEST_F(HostRegistryFileTest, IsRefusedWhereItIsOfAnotherVersion) {
  write(100, 0);
  expect_refused("has 100 bytes, wanted 8320");
  write(sizeof(SeatsLayout), 'x');
  expect_refused("is of another version");
}

TEST_F(HostRegistryFileTest, IsRefusedWhereItCouldNotBeMade) {
  folder_ += "/none";
  expect_refused("cannot be opened");
  folder_.resize(folder_.size() - 5);
}

TEST_F(HostRegistryFileTest, IsTakenAwayByTheLast) {
  Result<HostRegistryFile> file = HostRegistryFile::open(path());
  ASSERT_TRUE(file.ok());
  HostRegistry seats = file->seats();
  ASSERT_EQ(seats.take(mine_, life_of, kFileNow), 0U);
  file->remove_if_empty(mine_, life_of, kFileNow);
  EXPECT_TRUE(file->is_current());
  EXPECT_EQ(seats.take(mine_, life_of, kFileNow), 1U);  // The other seats are free again.
  seats.give_up(0, mine_);
  seats.give_up(1, mine_);
  file->remove_if_empty(mine_, life_of, kFileNow);
  EXPECT_FALSE(file->is_current());
  EXPECT_FALSE(std::filesystem::exists(path()));
  EXPECT_FALSE(seats.take(mine_, life_of, kFileNow));  // No process may join it.
}

TEST_F(HostRegistryFileTest, RemovesAbandonedFilesOnly) {
  const std::string abandoned = seats_path(folder_, 1);
  const std::string used = seats_path(folder_, 2);
  const std::string own = seats_path(folder_, 3);
  const std::string others = folder_ + "/stretto-host-12345-1-1";
  const ProcessMark gone{.owner = mine_.owner + 1, .space = mine_.space};
  for (const std::string& path : {abandoned, used, own, others}) {
    Result<HostRegistryFile> file = HostRegistryFile::open(path);
    ASSERT_TRUE(file.ok()) << file.status().text();
    EXPECT_TRUE(file->is_new());
    EXPECT_TRUE(file->seats().take(path == used ? mine_ : gone, life_of, kFileNow));
  }
  EXPECT_FALSE(HostRegistryFile::open(used)->is_new());
  remove_abandoned(own, mine_, life_of, kFileNow);
  EXPECT_FALSE(std::filesystem::exists(abandoned));
  EXPECT_TRUE(std::filesystem::exists(used));
  EXPECT_TRUE(std::filesystem::exists(own));
  EXPECT_TRUE(std::filesystem::exists(others)) << "of another user, by its name";
}

TEST_F(HostRegistryFileTest, NextProcessTakesSeatOfKilledProcess) {
  Result<HostRegistryFile> file = HostRegistryFile::open(path());
  ASSERT_TRUE(file.ok());
  HostRegistry seats = file->seats();
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const bool taken = seats.take(own_mark(), life_of, kFileNow) == 0U;
    const ssize_t told = ::write(ready[1], taken ? "y" : "n", 1);
    while (told == 1) ::pause();
    ::_exit(1);
  }
  char answer = 0;
  ASSERT_EQ(::read(ready[0], &answer, 1), 1);
  EXPECT_EQ(answer, 'y');
  EXPECT_EQ(seats.take(mine_, life_of, kFileNow), 1U);
  ASSERT_EQ(::kill(child, SIGKILL), 0);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  EXPECT_EQ(seats.take(mine_, life_of, kFileNow), 0U);
  ::close(ready[0]);
  ::close(ready[1]);
}

}  // namespace
}  // namespace stretto::host

// SPDX-License-Identifier: Apache-2.0
// Files of a killed process, and of a process that exits.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "common/clock.h"
#include "tools/launch/process/file_guard.h"

namespace stretto::launch {
namespace {

class FileGuardTest : public testing::Test {
 protected:
  FileGuardTest() {
    std::filesystem::create_directories(folder_ / "inner");
    std::ofstream(folder_ / "inner" / "journal") << "text";
    std::ofstream(folder_ / "job") << "text";
  }
  ~FileGuardTest() override { std::filesystem::remove_all(folder_); }

  std::vector<std::string> paths() const {
    return {folder_ / "job", folder_ / "inner" / "journal", folder_ / "missing", folder_ / "inner"};
  }
  bool is_empty() const { return std::filesystem::is_empty(folder_); }

  const std::filesystem::path folder_ =
      testing::TempDir() + "file_guard_" + std::to_string(::getpid());
};

TEST_F(FileGuardTest, FilesOfKilledProcessGo) {
  ASSERT_EQ(::prctl(PR_SET_CHILD_SUBREAPER, 1), 0);  // Its guard is reparented to this process.
  int told[2];
  ASSERT_EQ(::pipe(told), 0);
  const pid_t owner = ::fork();
  if (owner == 0) {
    const FileGuard guard(paths());
    const pid_t process = guard.process();
    static_cast<void>(::write(told[1], &process, sizeof process));
    ::pause();
  }
  pid_t guard = -1;
  ASSERT_EQ(::read(told[0], &guard, sizeof guard), static_cast<ssize_t>(sizeof guard));
  EXPECT_FALSE(is_empty());
  ::kill(owner, SIGKILL);
  EXPECT_EQ(::waitpid(owner, nullptr, 0), owner);
  EXPECT_EQ(::waitpid(guard, nullptr, 0), guard);
  EXPECT_TRUE(is_empty());
}

TEST_F(FileGuardTest, GuardEndsWithItsOwner) {
  pid_t process = -1;
  {
    const FileGuard guard(paths());
    process = guard.process();
    ASSERT_GT(process, 0);
  }
  EXPECT_NE(::kill(process, 0), 0);
  EXPECT_FALSE(is_empty()) << "the owner removes its files itself";
}

TEST_F(FileGuardTest, GuardShowsNoEnvironment) {
  const FileGuard guard(paths());
  const std::string path = "/proc/" + std::to_string(guard.process()) + "/environ";
  const SteadyClock clock;
  const Time end = clock.now() + 60s;
  std::string shown = "=";
  while (shown.find('=') != std::string::npos && clock.now() < end) {
    std::ifstream file(path, std::ios::binary);
    shown.assign(std::istreambuf_iterator<char>(file), {});
  }
  EXPECT_EQ(shown.find('='), std::string::npos);
}

}  // namespace
}  // namespace stretto::launch

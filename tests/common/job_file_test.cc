// SPDX-License-Identifier: Apache-2.0
// Job files: a user's processes find each other's jobs, and remove files of ended processes.
#include "common/config/job_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

namespace stretto {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class JobFileTest : public testing::Test {
 protected:
  JobFileTest() { std::filesystem::create_directory(root_); }
  ~JobFileTest() override { std::filesystem::remove_all(root_); }

  KnownJob job(const std::string& name) const {
    return {.name = name,
            .scheduler = "127.0.0.1:4711",
            .command = "train --fast",
            .workers = 3,
            .servers = 2,
            .started_s = 1000,
            .process = 0,
            .encrypts = true,
            .zmq = true,
            .token = "to ken\nof=two lines"};
  }
  std::vector<std::string> found() const {
    std::vector<std::string> names;
    for (const KnownJob& one : known_jobs(folders_)) names.push_back(one.name);
    return names;
  }
  std::vector<std::string> files() const {
    std::vector<std::string> paths;
    if (!std::filesystem::exists(folders_.front())) return paths;
    for (const auto& entry : std::filesystem::directory_iterator(folders_.front())) {
      paths.push_back(entry.path().string());
    }
    return paths;
  }
  // Replaces `from` in the only file.
  void forge(const std::string& from, const std::string& to) const {
    ASSERT_EQ(files().size(), 1U);
    std::ifstream in(files().front());
    std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
    const std::size_t at = text.find(from);
    ASSERT_NE(at, std::string::npos) << text;
    std::ofstream(files().front()) << text.replace(at, from.size(), to);
  }

  const std::string root_ = testing::TempDir() + "job_file_" + std::to_string(::getpid());
  const std::vector<std::string> folders_{root_ + "/a", root_ + "/b"};
};

TEST_F(JobFileTest, IsFoundAsItWasWrittenUntilItsJobEnds) {
  {
    JobFile file;
    ASSERT_TRUE(file.write(job("demo"), folders_).ok());
    const std::vector<KnownJob> jobs = known_jobs(folders_);
    ASSERT_EQ(jobs.size(), 1U);
    EXPECT_EQ(jobs[0].name, "demo");
    EXPECT_EQ(jobs[0].scheduler, "127.0.0.1:4711");
    EXPECT_EQ(jobs[0].command, "train --fast");
    EXPECT_EQ(jobs[0].workers, 3U);
    EXPECT_EQ(jobs[0].servers, 2U);
    EXPECT_EQ(jobs[0].started_s, 1000);
    EXPECT_EQ(jobs[0].process, ::getpid());
    EXPECT_TRUE(jobs[0].encrypts);
    EXPECT_TRUE(jobs[0].zmq);
    EXPECT_EQ(jobs[0].token, "to ken\nof=two lines");
  }
  EXPECT_THAT(files(), IsEmpty());
}

TEST_F(JobFileTest, ControlCharactersDoNotForgeFields) {
  JobFile file;
  KnownJob odd = job("a\nscheduler evil:1");
  odd.command = "x\ntoken stolen\x1b[2J" + std::string(5000, 'x');
  ASSERT_TRUE(file.write(odd, folders_).ok());
  const std::vector<KnownJob> jobs = known_jobs(folders_);
  ASSERT_EQ(jobs.size(), 1U);
  EXPECT_EQ(jobs[0].name, "a\\nscheduler evil:1");
  EXPECT_EQ(jobs[0].scheduler, "127.0.0.1:4711");
  EXPECT_EQ(jobs[0].token, odd.token);
  EXPECT_LT(jobs[0].command.size(), 2000U);
}

TEST_F(JobFileTest, OfAProcessThatIsGoneOrAnotherByNowIsRemoved) {
  const std::string self = std::to_string(::getpid());
  for (const auto& [from, to] : {std::pair<std::string, std::string>{"\nbegan ", "\nbegan 1"},
                                 {"process " + self, "process 999999999"},
                                 {"\nboot ", "\nboot x"}}) {
    JobFile file;
    ASSERT_TRUE(file.write(job("stale"), folders_).ok());
    forge(from, to);
    EXPECT_THAT(found(), IsEmpty()) << to;
    EXPECT_THAT(files(), IsEmpty()) << to;
  }
}

TEST_F(JobFileTest, KilledWriterLeavesNoJobListed) {
  const pid_t child = ::fork();
  if (child == 0) {
    auto* file = new JobFile;
    ::_exit(file->write(job("killed"), folders_).ok() ? 0 : 1);  // Exits without removing it.
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_EQ(WEXITSTATUS(status), 0);
  ASSERT_EQ(files().size(), 1U);
  EXPECT_THAT(found(), IsEmpty());
  EXPECT_THAT(files(), IsEmpty());
}

TEST_F(JobFileTest, OfAnotherNamespaceOfProcessesIsLeftAlone) {
  JobFile file;
  ASSERT_TRUE(file.write(job("elsewhere"), folders_).ok());
  forge("namespace pid", "namespace other");
  EXPECT_THAT(found(), IsEmpty());
  EXPECT_EQ(files().size(), 1U);
}

TEST_F(JobFileTest, TheNextFolderIsTakenWhereOneCannotBeUsed) {
  std::ofstream(folders_.front()) << "no folder";
  JobFile file;
  ASSERT_TRUE(file.write(job("second"), folders_).ok());
  EXPECT_THAT(found(), ElementsAre("second"));
  JobFile other;
  EXPECT_FALSE(other.write(job("none"), {folders_.front()}).ok());
}

TEST_F(JobFileTest, IsWrittenAgainIfItsFolderHasGone) {
  JobFile file;
  ASSERT_TRUE(file.write(job("kept"), folders_).ok());
  file.keep();
  EXPECT_EQ(files().size(), 1U);
  std::filesystem::remove_all(folders_.front());
  std::ofstream(folders_.front()) << "the login is over";
  file.keep();
  EXPECT_THAT(found(), ElementsAre("kept"));
}

TEST_F(JobFileTest, FoldersAreTheUsersOwnOrTheOneThatWasNamed) {
  ASSERT_EQ(::chmod(root_.c_str(), 0700), 0);
  const auto folders = [](std::map<std::string, std::string> set) {
    return job_folders(overlay(std::move(set), [](const std::string&) { return std::nullopt; }));
  };
  const std::string last = "/tmp/stretto-" + std::to_string(::geteuid());
  EXPECT_THAT(folders({{"STRETTO_RUNTIME_DIR", "/x"}, {"XDG_RUNTIME_DIR", root_}}),
              ElementsAre("/x"));
  EXPECT_EQ(folders({{"XDG_RUNTIME_DIR", root_}}).front(), root_ + "/stretto");
  EXPECT_EQ(folders({}).back(), last);
  ASSERT_EQ(::chmod(root_.c_str(), 0777), 0);
  EXPECT_NE(folders({{"XDG_RUNTIME_DIR", root_}}).front(), root_ + "/stretto");
}

TEST(JobNameTest, IsTheProgramsOrItsScripts) {
  EXPECT_EQ(job_name({"./bin/train", "x"}), "train");
  EXPECT_EQ(job_name({"/usr/bin/python3", "-u", "examples/mnist.py", "--lr", "1"}), "mnist.py");
  EXPECT_EQ(job_name({"python3.11", "-m", "pack.train"}), "pack.train");
  EXPECT_EQ(job_name({"python3"}), "python3");
  EXPECT_EQ(job_name({}), "stretto");
  EXPECT_EQ(command_line({"a", "b c"}), "a b c");
}

}  // namespace
}  // namespace stretto

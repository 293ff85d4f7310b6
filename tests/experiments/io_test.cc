// SPDX-License-Identifier: Apache-2.0
// What `stretto-experiment io` may be asked, and reading of real files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "experiments/io/io_disk.h"
#include "experiments/settings.h"

namespace stretto::bench::experiments {
namespace {

using testing::HasSubstr;

Result<Settings> io_settings(const std::vector<std::string>& words) {
  return read_settings(Experiment::kIo, words);
}

TEST(IoFlags, ParsesMeasurementSettings) {
  const Result<Settings> settings =
      io_settings({"--device", "model", "--kind", "nvme,noisy", "--seeds", "7"});
  ASSERT_TRUE(settings.ok()) << settings.status().text();
  EXPECT_EQ(settings->io.kinds.size(), 2U);
  EXPECT_EQ(settings->io.seeds, 7U);
  const Result<Settings> real = io_settings({"--device=real", "--path=/", "--pattern=random"});
  ASSERT_TRUE(real.ok());
  EXPECT_TRUE(real->io.real);
  EXPECT_EQ(real->io.pattern, Pattern::kRandom);
  EXPECT_TRUE(io_settings({"--help"}).ok());
}

TEST(IoFlags, ErrorNamesInvalidFlag) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases{
      {{"--device", "tape"}, "wanted real or model"},
      {{"--device", "real"}, "needs --path"},
      {{"--path", "/tmp"}, "--path is of --device real"},
      {{"--device", "real", "--path", "/", "--kind", "sata"}, "is of --device model"},
      {{"--kind", "tape"}, "sata, nvme"},
      {{"--pattern", "backwards"}, "wanted sequential, random or files"},
      {{"--seeds", "0"}, "wanted a whole number from 1"}};
  for (const auto& [words, cause] : cases) {
    const Result<Settings> settings = io_settings(words);
    ASSERT_FALSE(settings.ok()) << cause;
    EXPECT_THAT(settings.status().cause(), HasSubstr(cause));
  }
}

class IoDiskTest : public testing::Test {
 protected:
  IoDiskTest() {
    std::filesystem::create_directories(folder_);
    for (const char* name : {"a", "b", "c"}) {
      std::ofstream(folder_ + "/" + name) << std::string(300'000, 'x');
    }
    std::ofstream(folder_ + "/empty");
  }
  ~IoDiskTest() override { std::filesystem::remove_all(folder_); }
  const std::string folder_ = testing::TempDir() + "stretto_io_" + std::to_string(::getpid());
};

TEST_F(IoDiskTest, ReadsAFolderInEveryPattern) {
  for (const Pattern pattern : {Pattern::kSequential, Pattern::kRandom, Pattern::kFiles}) {
    Result<IoDisk> disk = IoDisk::open(folder_, pattern);
    ASSERT_TRUE(disk.ok()) << disk.status().text();
    EXPECT_EQ(disk->files(), 3U) << "an empty file has nothing to read";
    EXPECT_EQ(disk->bytes(), 900'000U);
    for (const input::Knobs knobs : {input::Knobs{1, 16384}, {8, 1 << 20}, {2, 65536}}) {
      const Result<input::Window> window = disk->run(knobs, 20ms);
      ASSERT_TRUE(window.ok()) << window.status().text();
      EXPECT_GT(window->requests, 0U);
      EXPECT_GT(window->delivered_bytes, 0U);
    }
  }
}

TEST_F(IoDiskTest, ReadsOneFile) {
  Result<IoDisk> disk = IoDisk::open(folder_ + "/a", Pattern::kSequential);
  ASSERT_TRUE(disk.ok());
  EXPECT_EQ(disk->bytes(), 300'000U);
}

TEST_F(IoDiskTest, ErrorNamesUnreadableFile) {
  EXPECT_THAT(IoDisk::open(folder_ + "/none", Pattern::kFiles).status().cause(),
              HasSubstr("/none"));
  EXPECT_THAT(IoDisk::open(folder_ + "/empty", Pattern::kFiles).status().cause(),
              HasSubstr("none with bytes"));
  Result<IoDisk> disk = IoDisk::open(folder_, Pattern::kSequential);
  ASSERT_TRUE(disk.ok());
  std::filesystem::remove(folder_ + "/a");
  const Result<input::Window> window = disk->run({1, 4096}, 20ms);
  ASSERT_FALSE(window.ok());
  EXPECT_THAT(window.status().cause(), HasSubstr(folder_ + "/a at 0"));
}

}  // namespace
}  // namespace stretto::bench::experiments

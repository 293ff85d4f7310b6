// SPDX-License-Identifier: Apache-2.0
// recover without jobs: what its flags say, and the disk that checkpoints are held against.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tools/bench/recover/recover_disk.h"
#include "tools/bench/settings/settings.h"

namespace stretto::bench {
namespace {

namespace fs = std::filesystem;

Result<Settings> read(const std::vector<std::string>& words) {
  return read_settings(Benchmark::kRecover, words);
}

TEST(RecoverSettings, AllRowsUnlessSomeAreNamed) {
  const Settings all = *read({});
  EXPECT_TRUE(has(all.recover, RecoverRow::kCheckpoint));
  EXPECT_TRUE(has(all.recover, RecoverRow::kBeginsAgain));
  const Settings some = *read({"--rows", "restore,crc"});
  EXPECT_TRUE(has(some.recover, RecoverRow::kCrc));
  EXPECT_FALSE(has(some.recover, RecoverRow::kCheckpoint));
}

TEST(RecoverSettings, RuleStateIsHalfOfHeldBytes) {
  const Settings settings = *read({"--bytes", "64M", "--step_bytes", "1M", "--servers", "3"});
  EXPECT_EQ(tensors_held(settings.recover, settings.servers), 96U);
}

TEST(RecoverSettings, NamesInvalidSizes) {
  EXPECT_THAT(read({"--bytes", "1M"}).status().cause(),
              testing::HasSubstr("wanted at least twice --step_bytes, 2097152"));
  EXPECT_THAT(read({"--exchanged", "4,6"}).status().cause(),
              testing::HasSubstr("a tensor of 6 bytes"));
}

TEST(RecoverSettings, EachOfTwoPhasesIsFirstInTurn) {
  std::vector<bool> found;
  for (std::size_t phase = 0; phase < 6; ++phase) found.push_back(has_checkpoint(phase));
  EXPECT_EQ(found, (std::vector<bool>{false, true, true, false, false, true}));
}

TEST(RecoverDisk, TheNewestCompleteCheckpointsFilesAreFound) {
  const Scratch scratch = Scratch::make("").or_exit();
  EXPECT_EQ(newest_checkpoint(scratch.path()).status().code(), Code::kResource);
  const fs::path folder = scratch.path();
  fs::create_directory(folder / "ckpt-2");
  std::ofstream(folder / "LATEST") << "ckpt-2\n";
  std::ofstream(folder / "ckpt-2" / "MANIFEST") << "12345";
  std::ofstream(folder / "ckpt-2" / "server-0.0.parts") << "123";
  const FileSet files = newest_checkpoint(scratch.path()).or_exit();
  EXPECT_EQ(files.paths.size(), 2U);
  EXPECT_EQ(files.bytes, 8U);
  EXPECT_TRUE(forget(files).ok());
  EXPECT_GT(plain_read_seconds(files).or_exit(), 0);
}

TEST(RecoverDisk, NothingStaysBehind) {
  std::string path;
  {
    const Scratch scratch = Scratch::make("").or_exit();
    path = scratch.path();
    EXPECT_GT(plain_write_seconds(path, 2, 5 << 20).or_exit(), 0);
    EXPECT_TRUE(fs::is_empty(path));
  }
  EXPECT_FALSE(fs::exists(path));
  EXPECT_EQ(Scratch::make("/nowhere").status().code(), Code::kResource);
}

}  // namespace
}  // namespace stretto::bench

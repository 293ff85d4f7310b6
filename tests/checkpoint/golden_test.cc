// SPDX-License-Identifier: Apache-2.0
// Keeps the checkpoint format stable: a checkpoint of an earlier release is read, and written again
// byte for byte.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checkpoint/attachments.h"
#include "common/config/config.h"
#include "common/files/real_disk.h"
#include "tests/checkpoint/golden_checkpoint.h"
#include "tests/sim/sim_disk.h"

namespace stretto::checkpoint {
namespace {

std::string golden_folder() {
  return fmt::format("{}/{}", process_environment()("STRETTO_SOURCE_DIR").value_or("."),
                     "tests/checkpoint/golden");
}

// Every file below a folder, keyed by its path relative to the folder.
std::map<std::string, std::string> all_below(Disk& disk, const std::string& folder) {
  std::map<std::string, std::string> all;
  for (const std::string& name : disk.list(folder, 100).or_exit()) {
    const std::string path = folder + "/" + name;
    if (disk.list(path, 100).ok()) {
      for (const auto& [below, text] : all_below(disk, path)) all[name + "/" + below] = text;
      continue;
    }
    const std::unique_ptr<stretto::File> file = disk.open(path, Open::kRead).or_exit();
    std::string text(file->size().or_exit(), '\0');
    file->read(0, std::as_writable_bytes(std::span(text.data(), text.size()))).or_exit();
    all[name] = text;
  }
  return all;
}

TEST(GoldenCheckpoint, IsWrittenAgainByteForByte) {
  sim::SimDisk disk(1);
  ASSERT_TRUE(write_golden(disk, "run").ok());
  RealDisk real;
  EXPECT_THAT(all_below(disk, "run"), testing::ContainerEq(all_below(real, golden_folder())))
      << "the format has changed: give it another version, and keep reading this one";
}

TEST(GoldenCheckpoint, IsRead) {
  RealDisk disk;
  Folder folder(disk, golden_folder());
  const Folder::Found found = folder.newest().or_exit();
  ASSERT_TRUE(found.newest);
  EXPECT_EQ(found.newest->origin, (CheckpointId{.job = 0xabc, .number = 1, .step = 100}));
  EXPECT_EQ(found.newest->tensors, golden_tensors());
  EXPECT_EQ(found.newest->made_at, "2026-01-02T03:04:05Z");
  for (const CheckpointManifest::File& file : found.newest->files) {
    const Contents contents = read_file(disk, folder.path_of(1, file.name), file.seal).or_exit();
    EXPECT_EQ(contents, golden_files().at(file.name)) << file.name;
  }
}

// This checkpoint predates the total size of all stripes, which stripes record now.
TEST(GoldenCheckpoint, ReadsAttachmentsOfOlderFormat) {
  RealDisk disk;
  Folder folder(disk, golden_folder());
  AttachedReader reader = AttachedReader::open(folder, 1).or_exit();
  ASSERT_EQ(reader.all().size(), 3U);
  std::string progress(7, ' ');
  const auto place = std::as_writable_bytes(std::span(progress.data(), progress.size()));
  ASSERT_TRUE(reader.read(reader.find("progress", kOfAll).value(), place).ok());
  EXPECT_EQ(progress, "epoch 3");
}

}  // namespace
}  // namespace stretto::checkpoint

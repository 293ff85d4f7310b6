// SPDX-License-Identifier: Apache-2.0
// Commands on a simulated disk: their reports on its contents, and the effect of a failing disk on
// an export.
#include <errno.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/checkpoint/golden_checkpoint.h"
#include "tests/sim/sim_disk.h"
#include "tools/checkpoint/commands.h"
#include "tools/checkpoint/export.h"

namespace stretto::checkpoint {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr const char* kParts = "server-0.0.parts";

class CheckpointCommands : public testing::Test {
 protected:
  CheckpointCommands() { folder_.make().or_exit(); }

  // A checkpoint of one tensor in parts of 40 bytes, or of about 4 MiB.
  void make(const std::map<std::string, Contents>& files, std::uint64_t elements = 15,
            std::uint32_t part_bytes = 40) {
    write_checkpoint(disk_, folder_, files,
                     {.part_bytes = part_bytes, .tensors = {{"w", Dtype::kF32, elements, {}}}})
        .or_exit();
  }
  void make_right() {
    make({{kParts,
           {{part_key("w", 0), saved_part(7, std::string(40, 'a'))},
            {part_key("w", 1), saved_part(7, std::string(20, 'b'))}}}});
  }
  Say say() {
    return [this](std::string_view line) { lines_.emplace_back(line); };
  }
  std::string verdict() {
    lines_.clear();
    return verify(disk_, folder_, say()).cause();
  }
  std::string exported(const std::string& to, ExportFormat format = ExportFormat::kSafetensors) {
    lines_.clear();
    return export_checkpoint(disk_, folder_, {.to = to, .format = format}, say()).cause();
  }
  std::string text(const std::string& path) {
    const std::unique_ptr<stretto::File> file = disk_.open(path, Open::kRead).or_exit();
    std::string all(file->size().or_exit(), '\0');
    file->read(0, std::as_writable_bytes(std::span(all.data(), all.size()))).or_exit();
    return all;
  }

  sim::SimDisk disk_{1};
  Folder folder_{disk_, "run"};
  std::vector<std::string> lines_;
};

TEST_F(CheckpointCommands, AFolderWithoutAnyIsAnError) {
  EXPECT_THAT(verdict(), HasSubstr("'run' is no folder of checkpoints"));
  folder_.begin().or_exit();
  EXPECT_THAT(verdict(), HasSubstr("has no complete checkpoint: writing of 1 was not finished"));
  EXPECT_THAT(lines_, ElementsAre(HasSubstr("checkpoint 1 is not complete")));
  make_right();
  EXPECT_EQ(verdict(), "");
  EXPECT_FALSE(verify(disk_, *std::make_unique<Folder>(disk_, "none"), say()).ok());
}

TEST_F(CheckpointCommands, TheFirstWrongOneIsTheError) {
  make_right();
  make({{kParts, {{part_key("w", 2), saved_part(7, std::string(40, 'a'))}}}});
  make({{kParts, {{part_key("w", 0), saved_part(7, std::string(36, 'a'))}}}});
  make_right();
  EXPECT_THAT(verdict(), HasSubstr("'run/ckpt-2/server-0.0.parts' is not of this checkpoint: part "
                                   "2 of tensor 'w' cannot be"));
  EXPECT_THAT(lines_,
              ElementsAre(HasSubstr("checkpoint 1 is right"), HasSubstr("checkpoint 2 is wrong"),
                          HasSubstr("checkpoint 3 is wrong: 'run/ckpt-3/server-0.0.parts': part 0 "
                                    "of tensor 'w' has a value of 36 bytes"),
                          HasSubstr("checkpoint 4 is right")));
}

TEST_F(CheckpointCommands, PartsInTwoFilesAreWrong) {
  const Contents part{{part_key("w", 0), saved_part(7, std::string(40, 'a'))}};
  make({{kParts, part}, {"server-1.0.parts", part}});
  EXPECT_THAT(verdict(), HasSubstr("'run/ckpt-1/server-1.0.parts' is not of this checkpoint: part "
                                   "0 of tensor 'w' is in another file too"));
}

TEST_F(CheckpointCommands, PartsThatAreNotThereAreTold) {
  make({{kParts, {{part_key("w", 1), saved_part(7, std::string(20, 'a'))}}}});
  EXPECT_EQ(verdict(), "");
  EXPECT_THAT(lines_, Contains(HasSubstr("of tensor 'w' 1 of 2 parts are saved, part 0 is not")));
  EXPECT_THAT(exported("out"), HasSubstr("tensor 'w' is there in part: its part 0 is not saved"));
}

TEST_F(CheckpointCommands, ADamagedOneIsInspectedAndNamed) {
  make_right();
  make_right();
  disk_.remove(folder_.path_of(1, kParts)).or_exit();
  ASSERT_TRUE(inspect(disk_, folder_, false, say()).ok());
  EXPECT_THAT(lines_, ElementsAre(HasSubstr("checkpoint 1 is not complete: cannot open"),
                                  HasSubstr("checkpoint 2 is complete: step 200"),
                                  HasSubstr("file server-0.0.parts"),
                                  HasSubstr("tensor 'w': f32[15] sync sum, 2 of 2 parts")));
  lines_.clear();
  ASSERT_TRUE(inspect(disk_, folder_, true, say()).ok());
  ASSERT_EQ(lines_.size(), 1U);
  EXPECT_THAT(lines_[0], HasSubstr(R"("complete":false)"));
}

TEST_F(CheckpointCommands, PruneReportsRemovedAndKept) {
  for (int i = 0; i < 4; ++i) make_right();
  ASSERT_TRUE(prune(disk_, folder_, 1, say()).ok());
  EXPECT_THAT(lines_, ElementsAre("removed: 1, 2, 3", "kept: 4"));
}

TEST_F(CheckpointCommands, FailedPruneReportsRemovedAndKept) {
  for (int i = 0; i < 4; ++i) make_right();
  disk_.fail(sim::DiskCall::kName, EIO, 4);
  EXPECT_FALSE(prune(disk_, folder_, 1, say()).ok());
  EXPECT_THAT(lines_, ElementsAre(HasSubstr("removed: "), HasSubstr("kept: ")));
  EXPECT_THAT(lines_[1], Not(HasSubstr("1, 2, 3")));
}

// Chunks of a file are independent of the positions of values.
TEST_F(CheckpointCommands, ExportsPartsLargerThanChunk) {
  constexpr std::uint64_t kElements = 3'000'000;
  constexpr std::uint32_t kLarge = 9 << 20;
  std::string value;
  for (std::uint32_t i = 0; i < kElements; ++i) value += text_of(i);
  make({{kParts,
         {{part_key("w", 0), saved_part(7, value.substr(0, kLarge))},
          {part_key("w", 1), saved_part(7, value.substr(kLarge))}}}},
       kElements, kLarge);
  EXPECT_EQ(exported("out"), "");
  const std::string out = text("out");
  EXPECT_EQ(out.size() % 8, value.size() % 8);
  EXPECT_TRUE(out.ends_with(value));
  EXPECT_EQ(exported("npy", ExportFormat::kNpy), "");
  EXPECT_TRUE(text("npy/w.npy").ends_with(value));
}

// After a failure of any call the export is complete or absent.
TEST_F(CheckpointCommands, ExportIsAtomicUnderDiskFailures) {
  make_right();
  for (const ExportFormat format : {ExportFormat::kSafetensors, ExportFormat::kNpy}) {
    for (const sim::DiskCall call : {sim::DiskCall::kLook, sim::DiskCall::kRead,
                                     sim::DiskCall::kWrite, sim::DiskCall::kSync}) {
      int failed = 0;
      for (;; ++failed) {
        ASSERT_LT(failed, 200);
        disk_.fail(call, EIO, static_cast<std::uint64_t>(failed));
        const std::string to = "out" + std::to_string(failed);
        const std::string error = exported(to, format);
        disk_.restart(sim::Crash::kProcess);
        const auto names = disk_.list(".", 100).or_exit();
        EXPECT_THAT(names, Not(Contains(to + ".new")));
        const bool there = disk_.exists(to).or_exit();
        if (there) {
          EXPECT_EQ(disk_
                        .exists(format == ExportFormat::kNpy ? to + "/registry.json"
                                                             : to + ".registry.json")
                        .or_exit(),
                    true);
        } else {
          EXPECT_THAT(names, ElementsAre("run")) << error;
        }
        for (const std::string& name : names) {
          if (name == "run") continue;
          for (const std::string& below : disk_.list(name, 10).ok() ? disk_.list(name, 10).or_exit()
                                                                    : std::vector<std::string>()) {
            disk_.remove(name + "/" + below).or_exit();
          }
          disk_.remove(name).or_exit();
        }
        if (error.empty()) break;
      }
      EXPECT_GT(failed, 0);
    }
  }
}

// Files with valid checksums and otherwise arbitrary contents.
TEST_F(CheckpointCommands, NothingThatAFileSaysMakesThemFail) {
  sim::Random random(1);
  const std::uint64_t numbers[] = {0,  1,  7,          8,          20,         32,         40,
                                   52, 72, 1ULL << 31, 1ULL << 32, 1ULL << 63, ~0ULL - 31, ~0ULL};
  const auto any = [&] { return numbers[random.below(std::size(numbers))]; };
  const TensorOptions options[] = {{},
                                   {.shape = "3x5"},
                                   {.update = {.rule = Rule::kAdam}},
                                   {.codec = CodecSpec{.codec = Codec::kOnebit}}};
  int right = 0;
  for (int i = 0; i < 500; ++i) {
    Folder folder(disk_, "run" + std::to_string(i));
    folder.make().or_exit();
    const SavedPartHead head{.version = random.below(4) == 0 ? any() : 7,
                             .value_bytes = any(),
                             .owed_bytes = random.below(2) == 0 ? 0 : any(),
                             .contributors = static_cast<std::uint32_t>(any()),
                             .codec = random.below(4) == 0 ? static_cast<std::uint32_t>(any()) : 0};
    const std::string bytes = text_of(head) + std::string(200, 'x');
    const std::uint64_t length = random.below(2) == 0 ? 32 + head.value_bytes : random.below(160);
    const auto part = static_cast<std::uint32_t>(random.below(4) == 0 ? any() : 0);
    const std::uint64_t elements = std::min<std::uint64_t>(any(), kMaxTensorBytes / 8);
    const auto dtype = static_cast<Dtype>(random.below(8) + 1);
    write_checkpoint(disk_, folder, {{kParts, {{part_key("w", part), bytes.substr(0, length)}}}},
                     {.part_bytes = std::max(1U, static_cast<std::uint32_t>(any())),
                      .tensors = {{"w", dtype, elements, options[random.below(4)]}}})
        .or_exit();
    right += verify(disk_, folder, say()).ok() ? 1 : 0;
    static_cast<void>(inspect(disk_, folder, i % 2 == 0, say()));
    const auto format = i % 2 == 0 ? ExportFormat::kNpy : ExportFormat::kSafetensors;
    static_cast<void>(export_checkpoint(
        disk_, folder, {.to = "out" + std::to_string(i), .format = format}, say()));
  }
  EXPECT_GT(right, 0);
  EXPECT_LT(right, 100);
}

TEST_F(CheckpointCommands, AFullDiskLeavesNoExport) {
  sim::SimDisk small(1, {.capacity_bytes = 3000});
  Folder folder(small, "run");
  folder.make().or_exit();
  write_checkpoint(small, folder,
                   {{kParts, {{part_key("w", 0), saved_part(7, std::string(1200, 'a'))}}}},
                   {.part_bytes = 1200, .tensors = {{"w", Dtype::kF32, 300, {}}}})
      .or_exit();
  const auto before = small.list(".", 10).or_exit();
  const Status status = export_checkpoint(small, folder, {.to = "out"}, say());
  EXPECT_THAT(status.cause(), HasSubstr("cannot write"));
  EXPECT_EQ(small.list(".", 10).or_exit(), before);
  EXPECT_THAT(lines_, IsEmpty());
}

}  // namespace
}  // namespace stretto::checkpoint

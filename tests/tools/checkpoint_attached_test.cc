// SPDX-License-Identifier: Apache-2.0
// Commands on workers' attachments, both valid and forged.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <deque>
#include <nlohmann/json.hpp>

#include "checkpoint/attachments.h"
#include "tests/checkpoint/golden_checkpoint.h"
#include "tests/sim/random.h"
#include "tests/sim/sim_disk.h"
#include "tools/checkpoint/commands.h"
#include "tools/checkpoint/export.h"

namespace stretto::checkpoint {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

class AttachedCommands : public testing::Test {
 protected:
  AttachedCommands() { folder_->make().or_exit(); }

  Attachment attachment(const std::string& name, std::size_t bytes, Held held,
                        std::optional<Dtype> dtype = std::nullopt, const std::string& shape = "") {
    std::vector<std::byte>& memory = memory_.emplace_back(bytes);
    for (std::byte& each : memory) each = static_cast<std::byte>(random_.below(256));
    return {.name = name, .bytes = memory, .held = held, .dtype = dtype, .shape = shape};
  }
  static std::string text_of_bytes(std::span<const std::byte> bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  // A checkpoint with these attachments, written by all of these workers. Servers have one tensor.
  void write(std::span<const Attachment> attachments, std::uint32_t workers,
             const std::vector<TensorSpec>& tensors = {{"w", Dtype::kF32, 10, {}}}) {
    CheckpointManifest manifest{.workers = workers, .part_bytes = 40, .tensors = tensors};
    const std::uint64_t number = folder_->begin().or_exit();
    manifest.origin = {.job = 0xabc, .number = number, .step = 7};
    if (!tensors.empty()) {
      const Contents parts{{part_key("w", 0), saved_part(7, std::string(40, 'a'))}};
      const FileDigest seal =
          write_file(disk_, folder_->path_of(number, "server-0.0.parts"), manifest.origin, parts)
              .or_exit();
      manifest.files.push_back({.name = "server-0.0.parts", .seal = seal, .entries = 1});
    }
    for (std::uint32_t position = 0; position < workers; ++position) {
      const StripeOwner seat{.position = position, .of = workers};
      const WrittenFile file =
          write_pieces(*folder_, manifest.origin, seat.position, pieces_to_write(attachments, seat))
              .or_exit();
      if (file.name.empty()) continue;
      manifest.files.push_back({.name = file.name, .seal = file.seal, .entries = file.entries});
    }
    folder_->commit(manifest).or_exit();
  }
  // A checkpoint of these entries, each in its own file with the given number of bytes.
  void forge(const std::vector<std::pair<SavedEntry, std::size_t>>& entries) {
    CheckpointManifest manifest{.part_bytes = 40};
    manifest.origin = {.job = 0xabc, .number = folder_->begin().or_exit(), .step = 7};
    for (const auto& [entry, length] : entries) {
      const std::string name = "worker-" + std::to_string(manifest.files.size()) + ".parts";
      PartsWriter writer = folder_->write(manifest.origin, name).or_exit();
      const std::vector<std::byte> bytes(length);
      writer.add(entry, {bytes}).or_exit();
      manifest.files.push_back({.name = name, .seal = writer.finish().or_exit(), .entries = 1});
    }
    folder_->commit(manifest).or_exit();
  }
  Say say() {
    lines_.clear();
    return [this](std::string_view line) { lines_.emplace_back(line); };
  }
  std::string verdict() { return verify(disk_, *folder_, say()).cause(); }
  std::string exported(const std::string& to, ExportFormat format = ExportFormat::kSafetensors) {
    return export_checkpoint(disk_, *folder_, {.to = to, .format = format}, say()).cause();
  }
  std::vector<std::string> inspected() {
    EXPECT_TRUE(inspect(disk_, *folder_, false, say()).ok());
    return lines_;
  }
  std::string text(const std::string& path) {
    const std::unique_ptr<stretto::File> file = disk_.open(path, Open::kRead).or_exit();
    std::string all(file->size().or_exit(), '\0');
    file->read(0, std::as_writable_bytes(std::span(all.data(), all.size()))).or_exit();
    return all;
  }
  // The bytes of a tensor in a safetensors file.
  static std::string data_of(const std::string& file, const std::string& key) {
    std::uint64_t length = 0;
    std::memcpy(&length, file.data(), sizeof length);
    const auto head = nlohmann::json::parse(file.substr(sizeof length, length));
    const std::uint64_t begin = head.at(key).at("data_offsets")[0];
    const std::uint64_t end = head.at(key).at("data_offsets")[1];
    return file.substr(sizeof length + length + begin, end - begin);
  }
  // The registry's description of `name`; null if it is missing.
  static nlohmann::json described(const std::string& registry, const std::string& name) {
    const auto all = nlohmann::json::parse(registry);
    nlohmann::json found;
    for (const auto& each : all.at("tensors")) {
      if (each.value("name", "") == name) found = each;
    }
    return found;
  }

  sim::Random random_{1};
  sim::SimDisk disk_{1};
  std::optional<Folder> folder_{std::in_place, disk_, "run"};
  std::deque<std::vector<std::byte>> memory_;
  std::vector<std::string> lines_;
};

TEST_F(AttachedCommands, InspectTakesStripesTogether) {
  write(std::vector{attachment("model", 9600, Held::kAlike, Dtype::kF32, "300x8"),
                    attachment("one", 6, Held::kAlike, Dtype::kBf16),
                    attachment("odd", 24, Held::kByFirst, Dtype::kF32, "5x5"),
                    attachment("mine", 16424, Held::kByEach)},
        2);
  EXPECT_THAT(inspected(), ElementsAre(HasSubstr("complete"), HasSubstr("server-0.0.parts"),
                                       HasSubstr("worker-0.parts"), HasSubstr("worker-1.parts"),
                                       HasSubstr("tensor 'w'"),
                                       "  attached 'model' of all workers: f32[300x8], 9600 bytes",
                                       "  attached 'odd' of all workers: f32[6], 24 bytes",
                                       "  attached 'mine' of worker 0: 16424 bytes",
                                       "  attached 'one' of all workers: bf16[3], 6 bytes",
                                       "  attached 'mine' of worker 1: 16424 bytes"));
  ASSERT_TRUE(inspect(disk_, *folder_, true, say()).ok());
  const auto all = nlohmann::json::parse(lines_.at(0)).at("checkpoints")[0].at("attached");
  EXPECT_EQ(all[0], (nlohmann::json{{"name", "model"},
                                    {"rank", nullptr},
                                    {"bytes", 9600},
                                    {"bytes_saved", 9600},
                                    {"dtype", "f32"},
                                    {"shape", "300x8"}}));
  EXPECT_EQ(all[4], (nlohmann::json{{"name", "mine"},
                                    {"rank", 1},
                                    {"bytes", 16424},
                                    {"bytes_saved", 16424},
                                    {"dtype", nullptr},
                                    {"shape", ""}}));
}

TEST_F(AttachedCommands, RejectsAttachmentMissingStripe) {
  const std::vector all{attachment("model", 100, Held::kAlike, Dtype::kF32, "5x5")};
  write(all, 3);
  EXPECT_EQ(verdict(), "");
  CheckpointManifest manifest = folder_->open(1).or_exit();
  manifest.origin.number = folder_->begin().or_exit();
  manifest.files.clear();
  for (const std::uint32_t position : {0U, 2U}) {
    const WrittenFile file = write_pieces(*folder_, manifest.origin, position,
                                          pieces_to_write(all, {.position = position, .of = 3}))
                                 .or_exit();
    manifest.files.push_back({.name = file.name, .seal = file.seal, .entries = file.entries});
  }
  folder_->commit(manifest).or_exit();
  EXPECT_EQ(verdict(),
            "'run/ckpt-2': 'model' of all workers is there in part: its stripe 1 is not "
            "saved, and 67 of 100 bytes are");
  EXPECT_THAT(lines_, Contains(HasSubstr("checkpoint 2 is wrong: 'run/ckpt-2': 'model'")));
  EXPECT_THAT(inspected(),
              Contains("  attached 'model' of all workers: f32[5x5], 67 of 100 bytes"));
  EXPECT_THAT(exported("out"), HasSubstr("'model' of all workers is there in part"));
  EXPECT_EQ(disk_.list(".", 10).or_exit(), std::vector<std::string>{"run"});
}

// Stripes are cut by bytes, not at the ends of elements.
TEST_F(AttachedCommands, ExportsCompleteElementsCutByStripes) {
  for (std::uint32_t workers = 1; workers <= 5; ++workers) {
    const std::vector all{attachment("model", 44, Held::kAlike, Dtype::kF32, "1x11"),
                          attachment("half", 26, Held::kAlike, Dtype::kBf16),
                          attachment("none", 0, Held::kAlike, Dtype::kF64, "0x3"),
                          attachment("mean", 12, Held::kByFirst, Dtype::kI32, "2x2")};
    write(all, workers);
    const std::string to = "out" + std::to_string(workers);
    ASSERT_EQ(exported(to), "");
    EXPECT_THAT(lines_.back(), HasSubstr("1 of 1 tensors and 4 of 4 attachments are in 'out"));
    for (const Attachment& each : all) {
      EXPECT_EQ(data_of(text(to), each.name), text_of_bytes(each.bytes)) << workers;
    }
    ASSERT_EQ(exported(to + "n", ExportFormat::kNpy), "");
    EXPECT_TRUE(text(to + "n/model.npy").ends_with(text_of_bytes(all[0].bytes)));
    EXPECT_THAT(text(to + "n/model.npy"), HasSubstr("'shape': (1, 11)"));
    EXPECT_THAT(text(to + "n/mean.npy"), HasSubstr("'shape': (3,)")) << "3 are not 2x2";
    EXPECT_THAT(text(to + "n/none.npy"), HasSubstr("'shape': (0, 3)"));
    std::string wide;
    for (std::size_t i = 0; i < all[1].bytes.size(); i += 2) {
      wide += std::string(2, '\0') + text_of_bytes(all[1].bytes.subspan(i, 2));
    }
    EXPECT_TRUE(text(to + "n/half.npy").ends_with(wide)) << workers;
  }
}

TEST_F(AttachedCommands, RegistryListsAttachmentsAndOmissions) {
  write(std::vector{attachment("model", 24, Held::kAlike, Dtype::kF32, "2x3"),
                    attachment("state", 9, Held::kAlike),
                    attachment("mine", 8, Held::kByEach, Dtype::kF32)},
        2);
  ASSERT_EQ(exported("out"), "");
  EXPECT_THAT(lines_,
              ElementsAre("attached 'mine' of worker 0 is left out: each worker has its own",
                          "attached 'state' of all workers is left out: there are bytes, and no "
                          "element type",
                          "attached 'mine' of worker 1 is left out: each worker has its own",
                          "checkpoint 1: 1 of 1 tensors and 1 of 4 attachments are in 'out'"));
  const std::string registry = text("out.registry.json");
  EXPECT_EQ(described(registry, "model"), (nlohmann::json{{"name", "model"},
                                                          {"attached", true},
                                                          {"rank", nullptr},
                                                          {"bytes", 24},
                                                          {"elements", 6},
                                                          {"dtype", "f32"},
                                                          {"shape", "2x3"},
                                                          {"key", "model"}}));
  EXPECT_EQ(described(registry, "state"),
            (nlohmann::json{{"name", "state"},
                            {"attached", true},
                            {"rank", nullptr},
                            {"bytes", 9},
                            {"dtype", nullptr},
                            {"shape", ""},
                            {"skipped", "there are bytes, and no element type"}}));
  EXPECT_EQ(described(registry, "mine").at("rank"), 1);
  EXPECT_FALSE(described(registry, "w").contains("attached"));
}

TEST_F(AttachedCommands, NamesOfServersTensorsStayTheirs) {
  const std::vector all{attachment("w", 4, Held::kAlike, Dtype::kF32),
                        attachment("attached/w", 8, Held::kAlike, Dtype::kF32)};
  write(all, 2);
  ASSERT_EQ(exported("out"), "");
  const std::string out = text("out");
  EXPECT_EQ(data_of(out, "w"), std::string(40, 'a'));
  EXPECT_EQ(data_of(out, "attached/w"), text_of_bytes(all[1].bytes));
  EXPECT_EQ(data_of(out, "attached/attached/w"), text_of_bytes(all[0].bytes));
  EXPECT_EQ(described(text("out.registry.json"), "attached/attached/w").at("bytes"), 4);
  ASSERT_EQ(exported("npy", ExportFormat::kNpy), "");
  EXPECT_TRUE(text("npy/attached%2Fw.npy").ends_with(text_of_bytes(all[1].bytes)));
}

TEST_F(AttachedCommands, WithoutTensorsOfServersTheyAreTheExport) {
  write(std::vector{attachment("state", 9, Held::kAlike)}, 2, {});
  EXPECT_EQ(exported("out"),
            "checkpoint 1 has no tensor that can be exported: of 'state', for one, "
            "there are bytes, and no element type");
  write(std::vector{attachment("model", 9, Held::kAlike, Dtype::kI8)}, 2, {});
  EXPECT_EQ(exported("out"), "");
  EXPECT_THAT(lines_,
              ElementsAre("checkpoint 2: 0 of 0 tensors and 1 of 1 attachments are in 'out'"));
}

// Each stripe has more than one chunk of a file, and no chunk ends with an element.
TEST_F(AttachedCommands, ExportsStripesLargerThanChunk) {
  const std::vector all{attachment("a", 1, Held::kAlike, Dtype::kI8),
                        attachment("model", 12'000'002, Held::kAlike, Dtype::kBf16)};
  write(all, 2);
  ASSERT_EQ(exported("out"), "");
  EXPECT_EQ(data_of(text("out"), "model"), text_of_bytes(all[1].bytes));
  ASSERT_EQ(exported("npy", ExportFormat::kNpy), "");
  const std::string wide = text("npy/model.npy");
  const std::string narrow = text_of_bytes(all[1].bytes);
  ASSERT_GT(wide.size(), 2 * narrow.size());
  const std::string_view data = std::string_view(wide).substr(wide.size() - 2 * narrow.size());
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < narrow.size(); ++i) {
    wrong += data[2 * i + 1 + (i % 2 == 0 ? 1 : 0)] == narrow[i] ? 0 : 1;
  }
  EXPECT_EQ(wrong, 0U);
}

TEST_F(AttachedCommands, ADtypeThatIsNoneIsAnErrorThatNamesTheFile) {
  forge({{{.key = {.kind = Kind::kAttached, .name = "model"},
           .total = 4,
           .dtype = static_cast<Dtype>(255)},
          4}});
  EXPECT_THAT(verdict(), HasSubstr("'run/ckpt-1/worker-0.parts' is damaged: its index says what "
                                   "cannot be"));
  EXPECT_THAT(inspected(), ElementsAre(HasSubstr("checkpoint 1 is not complete: ")));
  EXPECT_THAT(exported("out"), HasSubstr("its index says what cannot be"));
}

// Files with valid checksums and otherwise arbitrary contents.
TEST_F(AttachedCommands, NothingThatStripesSayMakesThemFail) {
  const std::uint64_t numbers[] = {0, 1, 4, 8, 12, 1ULL << 31, 1ULL << 32, 1ULL << 63, ~0ULL};
  const auto any = [&] { return numbers[random_.below(std::size(numbers))]; };
  const std::string texts[] = {"", "2", "3x1", "0x0", "x", "99999999999999999999", "1x\xff\n"};
  int right = 0;
  int whole = 0;
  for (int i = 0; i < 500; ++i) {
    const std::string path = "run" + std::to_string(i);
    folder_.emplace(disk_, path);
    folder_->make().or_exit();
    std::vector<std::pair<SavedEntry, std::size_t>> entries;
    SavedEntry entry{.key = {.kind = Kind::kAttached, .name = i % 3 == 0 ? "\xff" : "m"}};
    const std::uint64_t count = 1 + random_.below(3);
    for (std::uint32_t stripe = 0; stripe < count; ++stripe) {
      if (stripe == 0 || random_.chance(0.2)) {
        entry.total = random_.chance(0.7) ? 4 * count : any();
        entry.dtype = random_.chance(0.7) ? Dtype::kF32 : static_cast<Dtype>(random_.below(9));
        if (*entry.dtype == Dtype()) entry.dtype = std::nullopt;
        entry.shape = random_.chance(0.5) ? "" : texts[random_.below(std::size(texts))];
      }
      entry.key.part = random_.chance(0.8) ? stripe : static_cast<std::uint32_t>(any());
      entry.key.rank = random_.chance(0.8) ? kOfAll : static_cast<std::int32_t>(random_.below(3));
      entries.emplace_back(entry, random_.chance(0.8) ? 4 : random_.below(20));
    }
    forge(entries);
    const bool is_right = verdict().empty();
    right += is_right ? 1 : 0;
    EXPECT_TRUE(inspect(disk_, *folder_, i % 2 == 0, say()).ok());
    const auto format = i % 2 == 0 ? ExportFormat::kNpy : ExportFormat::kSafetensors;
    const bool is_whole = exported("out" + std::to_string(i), format).empty();
    whole += is_whole ? 1 : 0;
    EXPECT_FALSE(is_right && !AttachedReader::open(*folder_, 1).ok()) << "a job can go on from it";
  }
  EXPECT_GT(right, 50);
  EXPECT_LT(right, 300);
  EXPECT_GT(whole, 50);
}

}  // namespace
}  // namespace stretto::checkpoint

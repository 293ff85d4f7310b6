// SPDX-License-Identifier: Apache-2.0
// Inventories of checkpoints, and which tensors an export has where.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/checkpoint/golden_checkpoint.h"
#include "tools/checkpoint/export_plan.h"

namespace stretto::checkpoint {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

// Two parts of "w", one of "b", none of "n"; "e" has none.
CheckpointManifest small_manifest() {
  return {.origin = {.number = 5},
          .part_bytes = 40,
          .tensors = {{"w", Dtype::kF32, 15, {.shape = "3x5"}},
                      {"b", Dtype::kF64, 3, {}},
                      {"n", Dtype::kI8, 3, {}},
                      {"e", Dtype::kF32, 0, {}}}};
}

SavedEntry saved_entry(const std::string& tensor, std::uint32_t part, std::uint64_t version = 7) {
  return {.key = part_key(tensor, part), .bytes = 72, .version = version};
}

class ExportPlanTest : public testing::Test {
 protected:
  std::string add(const std::vector<SavedEntry>& entries) {
    return inventory_.add("run/x.parts", entries.size(), entries).cause();
  }
  std::string refusal(ExportFormat format = ExportFormat::kNpy) {
    return plan_export(manifest_, inventory_, encoded_, format).status().cause();
  }

  CheckpointManifest manifest_ = small_manifest();
  Inventory inventory_ = Inventory::of(manifest_).or_exit();
  std::set<std::size_t> encoded_;
};

TEST_F(ExportPlanTest, PlacesAndAlignsSavedTensors) {
  EXPECT_EQ(add({saved_entry("w", 1), saved_entry("b", 0)}), "");
  EXPECT_EQ(add({saved_entry("w", 0)}), "");
  const ExportPlan plan =
      plan_export(manifest_, inventory_, {}, ExportFormat::kSafetensors).or_exit();
  ASSERT_THAT(plan.items, SizeIs(3));
  EXPECT_EQ(plan.items[0].name, "b");
  EXPECT_EQ(plan.items[0].begin, 0U);
  EXPECT_EQ(plan.items[0].bytes, 24U);
  EXPECT_EQ(plan.items[1].name, "w");
  EXPECT_EQ(plan.items[1].begin, 24U);
  EXPECT_THAT(plan.items[1].shape, testing::ElementsAre(3, 5));
  EXPECT_EQ(plan.items[2].name, "e");
  EXPECT_EQ(plan.items[2].begin, 84U);
  ASSERT_THAT(plan.skipped, SizeIs(1));
  EXPECT_EQ(plan.skipped[0].index, 2U);
  EXPECT_EQ(plan.skipped[0].why, "no part is saved");
}

TEST_F(ExportPlanTest, ATensorThatIsThereInPartIsAnError) {
  EXPECT_EQ(add({saved_entry("w", 1)}), "");
  EXPECT_THAT(refusal(), HasSubstr("tensor 'w' is there in part: its part 0 is not saved, and 1 "
                                   "of 2 are"));
}

TEST_F(ExportPlanTest, SoIsOneWithoutSomeValues) {
  EXPECT_EQ(add({saved_entry("w", 0), saved_entry("w", 1, 0)}), "");
  EXPECT_THAT(refusal(), HasSubstr("its part 1 has no value yet"));
}

TEST_F(ExportPlanTest, SkipsTensorsWithoutValueOrEncoded) {
  EXPECT_EQ(add({saved_entry("w", 0, 0), saved_entry("w", 1, 0), saved_entry("b", 0)}), "");
  encoded_ = {1};
  const ExportPlan plan =
      plan_export(manifest_, inventory_, encoded_, ExportFormat::kNpy).or_exit();
  ASSERT_THAT(plan.skipped, SizeIs(3));
  EXPECT_EQ(plan.skipped[0].why, "there is no value yet");
  EXPECT_EQ(plan.skipped[1].why, "values are encoded by a codec");
  ASSERT_THAT(plan.items, SizeIs(1));
  EXPECT_EQ(plan.items[0].name, "e.npy");
}

TEST_F(ExportPlanTest, PlacesAttachmentsAfterTensors) {
  const auto stripe = [](const std::string& name, std::uint32_t part, std::uint64_t bytes,
                         std::optional<Dtype> dtype = Dtype::kI64) {
    return SavedEntry{.key = {.kind = Kind::kAttached, .name = name, .part = part},
                      .bytes = bytes,
                      .total = 24,
                      .dtype = dtype,
                      .shape = "3x1"};
  };
  EXPECT_EQ(add({stripe("b", 1, 17), stripe("text", 0, 24, std::nullopt)}), "");
  EXPECT_THAT(refusal(), HasSubstr("'b' of all workers is there in part: its stripe 0"));
  EXPECT_EQ(add({stripe("b", 0, 7), saved_entry("b", 0)}), "");
  const ExportPlan plan =
      plan_export(manifest_, inventory_, {}, ExportFormat::kSafetensors).or_exit();
  ASSERT_THAT(plan.items, SizeIs(3));
  EXPECT_EQ(plan.items[0].kind, Kind::kPart);
  EXPECT_EQ(plan.items[0].name, "b");
  EXPECT_EQ(plan.items[1].kind, Kind::kAttached);
  EXPECT_EQ(plan.items[1].index, 0U);
  EXPECT_EQ(plan.items[1].name, "attached/b");
  EXPECT_EQ(plan.items[1].begin, 24U);
  EXPECT_THAT(plan.items[1].shape, testing::ElementsAre(3, 1));
  EXPECT_THAT(plan.items[1].stripes, testing::ElementsAre(0, 7));
  EXPECT_EQ(plan.items[2].name, "e");
  EXPECT_EQ(plan.items_of(Kind::kAttached), 1U);
  ASSERT_THAT(plan.skipped, SizeIs(3));
  EXPECT_EQ(plan.skipped[2].kind, Kind::kAttached);
  EXPECT_EQ(plan.skipped[2].why, "there are bytes, and no element type");
}

TEST_F(ExportPlanTest, NothingAtAllIsAnError) {
  manifest_.tensors.pop_back();
  EXPECT_THAT(refusal(), HasSubstr("of 'w', for one, no part is saved"));
  manifest_.tensors.clear();
  EXPECT_THAT(refusal(), HasSubstr("none is declared"));
}

TEST_F(ExportPlanTest, FilesThatDoNotFitTheManifestAreRefused) {
  EXPECT_THAT(inventory_.add("run/x.parts", 2, {saved_entry("w", 0)}).cause(),
              HasSubstr("'run/x.parts' is not of this checkpoint: it has 1 entries"));
  EXPECT_THAT(add({saved_entry("x", 0)}), HasSubstr("the manifest has no such tensor"));
  EXPECT_THAT(add({saved_entry("e", 0)}), HasSubstr("it has 0 parts"));
  EXPECT_EQ(add({saved_entry("b", 0)}), "");
  EXPECT_THAT(add({saved_entry("b", 0)}), HasSubstr("part 0 of tensor 'b' is in another file"));
  const SavedEntry attached{.key = {.kind = Kind::kAttached, .name = "b"}, .bytes = 3, .total = 3};
  EXPECT_EQ(add({attached}), "");
  EXPECT_THAT(add({attached}), HasSubstr("'b' of all workers is in another file"));
  EXPECT_THAT(inventory_.attached(), SizeIs(1));
}

TEST_F(ExportPlanTest, TheFirstPartThatIsMissingIsNamed) {
  EXPECT_EQ(first_missing({.parts = 0}), std::nullopt);
  EXPECT_EQ(first_missing({.parts = 2}), 0U);
  EXPECT_EQ(first_missing({.parts = 2, .saved = {{1, true}}}), 0U);
  EXPECT_EQ(first_missing({.parts = 3, .saved = {{0, true}, {2, true}}}), 1U);
  EXPECT_EQ(first_missing({.parts = 2, .saved = {{0, true}, {1, false}}}), std::nullopt);
}

TEST(InventoryOf, TensorsThatNoJobCouldCutAreRefused) {
  const CheckpointManifest hostile{.part_bytes = 1,
                                   .tensors = {{"w", Dtype::kI8, kMaxTensorBytes / 8, {}}}};
  EXPECT_THAT(Inventory::of(hostile).status().cause(), HasSubstr("tensor 'w' of"));
}

}  // namespace
}  // namespace stretto::checkpoint

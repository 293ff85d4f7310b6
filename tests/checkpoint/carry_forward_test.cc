// SPDX-License-Identifier: Apache-2.0
// What is carried from one checkpoint to the next, and what is not.
#include "checkpoint/carry_forward.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/checkpoint/files.h"
#include "tests/sim/sim_disk.h"

namespace stretto::checkpoint {
namespace {

using testing::SizeIs;

TensorSpec tensor(const std::string& name, Rule rule = Rule::kAdam) {
  TensorSpec spec{.name = name, .elements = 10, .options = {}};
  spec.options.update.rule = rule;
  return spec;
}

class CarryOverTest : public testing::Test {
 protected:
  CarryOverTest() { folder_.make().or_exit(); }

  CheckpointManifest written(const Contents& contents, std::vector<TensorSpec> tensors) {
    const CheckpointId origin{.job = 1, .number = folder_.begin().or_exit()};
    const std::string file = "server-0.0.parts";
    const FileDigest seal =
        write_file(disk_, folder_.path_of(origin.number, file), origin, contents).or_exit();
    return {.origin = origin,
            .part_bytes = 64,
            .files = {{.name = file, .seal = seal, .entries = contents.size()}},
            .tensors = std::move(tensors)};
  }
  Contents all_of(const CheckpointManifest& manifest) {
    Contents all;
    for (const auto& file : manifest.files) {
      all.merge(read_file(disk_, folder_.path_of(manifest.origin.number, file.name), file.seal)
                    .or_exit());
    }
    return all;
  }

  sim::SimDisk disk_{1};
  Folder folder_{disk_, "run"};
};

TEST_F(CarryOverTest, PartsThatAreInNoNewFileAre) {
  const CheckpointManifest from =
      written({{part_key("w", 0), "old 0"}, {part_key("w", 1), "old 1"}, {part_key("v", 0), "v"}},
              {tensor("w"), tensor("v")});
  CheckpointManifest to = written({{part_key("w", 0), "new 0"}}, {tensor("w")});
  ASSERT_TRUE(carry_over(folder_, from, folder_, to).ok());
  const Contents wanted = {
      {part_key("w", 0), "new 0"}, {part_key("w", 1), "old 1"}, {part_key("v", 0), "v"}};
  EXPECT_EQ(all_of(to), wanted);
  EXPECT_EQ(to.tensors, std::vector({tensor("w"), tensor("v")}));
  ASSERT_TRUE(folder_.commit(to).ok());
  EXPECT_TRUE(folder_.open(to.origin.number).ok());
}

TEST_F(CarryOverTest, ATensorThatIsAnotherOneNowIsNot) {
  const CheckpointManifest from = written({{part_key("w", 0), "adam's"}}, {tensor("w")});
  CheckpointManifest to = written({}, {tensor("w", Rule::kMomentum)});
  ASSERT_TRUE(carry_over(folder_, from, folder_, to).ok());
  EXPECT_EQ(all_of(to), Contents());
  EXPECT_THAT(to.files, SizeIs(1));
}

TEST_F(CarryOverTest, WhereNothingIsLackingThereIsNoFile) {
  const CheckpointManifest from = written({{part_key("w", 0), "old"}}, {tensor("w")});
  CheckpointManifest to = written({{part_key("w", 0), "new"}}, {tensor("w")});
  ASSERT_TRUE(carry_over(folder_, from, folder_, to).ok());
  EXPECT_THAT(to.files, SizeIs(1));
}

TEST_F(CarryOverTest, AnOldOneThatIsDamagedIsAnError) {
  const CheckpointManifest from = written({{part_key("w", 0), "old"}}, {tensor("w")});
  CheckpointManifest to = written({}, {});
  {
    const auto file = disk_.open(folder_.path_of(1, "server-0.0.parts"), Open::kWrite).or_exit();
    const std::byte wrong{1};
    ASSERT_TRUE(file->write(64, {&wrong, 1}).ok());
  }
  EXPECT_EQ(carry_over(folder_, from, folder_, to).code(), Code::kMalformed);
}

TEST_F(CarryOverTest, CodecErrorIsNotCarriedToOtherCodec) {
  TensorSpec owing = tensor("w", Rule::kSum);
  owing.options.codec = *codec_from("onebit,ef=vanilla");
  TensorSpec plain = tensor("w", Rule::kSum);
  EXPECT_TRUE(is_of_use(owing, owing));
  EXPECT_FALSE(is_of_use(owing, plain));
  EXPECT_TRUE(is_of_use(tensor("w"), tensor("w")));
  const CheckpointManifest from = written({{part_key("w", 0), "debt"}}, {owing});
  CheckpointManifest to = written({}, {plain});
  ASSERT_TRUE(carry_over(folder_, from, folder_, to).ok());
  EXPECT_EQ(all_of(to), Contents());
}

TEST_F(CarryOverTest, ManifestOmitsTensorsWithoutSavedParts) {
  CheckpointManifest to = written({{part_key("w", 3), "part"}}, {tensor("w"), tensor("v")});
  ASSERT_TRUE(keep_saved_tensors(folder_, to).ok());
  EXPECT_EQ(to.tensors, std::vector({tensor("w")}));
}

}  // namespace
}  // namespace stretto::checkpoint

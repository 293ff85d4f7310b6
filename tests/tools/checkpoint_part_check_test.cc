// SPDX-License-Identifier: Apache-2.0
// A part's entry in a file must match the cut of its tensor.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "tests/checkpoint/golden_checkpoint.h"
#include "tools/checkpoint/part_check.h"

namespace stretto::checkpoint {
namespace {

using testing::HasSubstr;

constexpr std::uint64_t kHuge = std::numeric_limits<std::uint64_t>::max();
constexpr std::uint32_t kPartBytes = 40;

// 25 elements in parts of 10: the last has 5.
const TensorSpec kPlain{"w", Dtype::kF32, 25, {}};
const TensorSpec kAdam{"w", Dtype::kF32, 25, {.update = {.rule = Rule::kAdam}}};
const TensorSpec kCoded{"w", Dtype::kF32, 25, {.codec = CodecSpec{.codec = Codec::kFp16}}};

struct SavedHead : SavedPartHead {
  std::uint64_t bytes = 0;  // Of the entry.
  std::uint32_t part = 0;
};

// Why this is not a part of the tensor; empty if it is.
std::string refusal(const TensorSpec& spec, SavedHead head, std::uint64_t version = 7) {
  const SavedEntry entry{
      .key = part_key(spec.name, head.part), .bytes = head.bytes, .version = version};
  if (Status status = check_entry(entry, spec, kPartBytes); !status.ok()) return status.cause();
  const SavedPartHead& saved = head;
  return head_of(std::as_bytes(std::span(&saved, 1)), entry, spec, kPartBytes).status().cause();
}

SavedHead head(std::uint64_t bytes, SavedPartHead with, std::uint32_t part = 0) {
  return {with, bytes, part};
}

TEST(CheckpointPart, ThatFitsIsTaken) {
  EXPECT_EQ(refusal(kPlain, head(72, {.version = 7, .value_bytes = 40})), "");
  EXPECT_EQ(refusal(kPlain, head(52, {.version = 7, .value_bytes = 20}, 2)), "");
  EXPECT_EQ(refusal(kPlain, head(32, {}), 0), "") << "no value yet";
  EXPECT_EQ(refusal(kAdam, head(72 + 96, {.version = 7, .value_bytes = 40})), "");
  EXPECT_EQ(
      refusal(kCoded, head(92, {.version = 7, .value_bytes = 20, .owed_bytes = 40, .codec = 1})),
      "");
  EXPECT_EQ(refusal(kCoded, head(72, {.version = 7, .value_bytes = 40})), "");
}

TEST(CheckpointPart, ThatTheTensorCannotHaveIsRefused) {
  EXPECT_THAT(refusal(kPlain, head(72, {.version = 7, .value_bytes = 40}, 3)),
              HasSubstr("part 3 of tensor 'w' cannot be: it has 3 parts"));
  EXPECT_THAT(refusal(kPlain, head(31, {})), HasSubstr("has 31 bytes, and its head alone"));
  EXPECT_THAT(refusal(kPlain, head(72, {.version = 7, .value_bytes = 40}), 8),
              HasSubstr("version 7 by its head, and 8"));
  SavedEntry of_one{.key = part_key("w", 0), .bytes = 72};
  of_one.key.rank = 1;
  EXPECT_FALSE(check_entry(of_one, kPlain, kPartBytes).ok());
}

TEST(CheckpointPart, HeadsThatLieAreRefused) {
  for (const std::uint64_t bytes : {std::uint64_t{0}, std::uint64_t{36}, std::uint64_t{44}, kHuge,
                                    kHuge - 31, std::uint64_t{1} << 63}) {
    EXPECT_THAT(refusal(kPlain, head(72, {.version = 7, .value_bytes = bytes})),
                HasSubstr("one of 10 elements has 40"));
    EXPECT_THAT(refusal(kPlain, head(72, {.version = 0, .value_bytes = bytes | 1}), 0),
                HasSubstr("one of 10 elements has 0"));
    if (bytes == 0) continue;
    EXPECT_THAT(refusal(kPlain, head(72, {.version = 7, .value_bytes = 40, .owed_bytes = bytes})),
                HasSubstr("owe 40 or none"));
  }
  for (const std::uint64_t bytes : {std::uint64_t{71}, std::uint64_t{73}, kHuge}) {
    EXPECT_THAT(refusal(kPlain, head(bytes, {.version = 7, .value_bytes = 40})),
                HasSubstr("it has 72"));
  }
  EXPECT_THAT(refusal(kAdam, head(72, {.version = 7, .value_bytes = 40})), HasSubstr("has 168"));
}

TEST(CheckpointPart, OnlyTheTensorsOwnCodecMakesItsValues) {
  for (const std::uint32_t codec : {1U, 2U, 99U, 0xffffffffU}) {
    EXPECT_THAT(refusal(kPlain, head(52, {.version = 7, .value_bytes = 20, .codec = codec})),
                HasSubstr("a value of codec"));
  }
  EXPECT_THAT(refusal(kCoded, head(52, {.version = 7, .value_bytes = 20, .codec = 2})),
              HasSubstr("a value of codec 2"));
}

TEST(CheckpointPart, NoTensorIsCutIntoMoreThanAJobTakes) {
  const TensorSpec largest{"w", Dtype::kI8, kMaxTensorBytes / 8, {}};
  EXPECT_THAT(count_parts(largest, 1).status().cause(), HasSubstr("no tensor has more"));
  EXPECT_THAT(count_parts(largest, 1 << 14).status().cause(), HasSubstr("no tensor has more"));
  EXPECT_EQ(count_parts(largest, 1 << 15).or_exit(), kMaxParts);
  EXPECT_EQ(count_parts(kPlain, 1).or_exit(), 25U) << "an element at least";
  EXPECT_EQ(count_parts(kPlain, 0xffffffff).or_exit(), 1U);
  EXPECT_EQ(count_parts({"w", Dtype::kF32, 0, {}}, 1).or_exit(), 0U);
}

}  // namespace
}  // namespace stretto::checkpoint

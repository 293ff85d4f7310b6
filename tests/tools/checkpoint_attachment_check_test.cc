// SPDX-License-Identifier: Apache-2.0
// Stripes of an attachment are checked against each other and against the data.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "tools/checkpoint/attachment_check.h"

namespace stretto::checkpoint {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

struct SaidOfAll {
  std::uint64_t total = 24;
  std::optional<Dtype> dtype = Dtype::kF32;
  std::string shape = "2x3";
};

SavedEntry stripe_of(std::uint32_t number, std::uint64_t bytes, const SaidOfAll& said = {},
                     std::int32_t rank = kOfAll) {
  return {.key = {.kind = Kind::kAttached, .name = "m", .part = number, .rank = rank},
          .bytes = bytes,
          .total = said.total,
          .dtype = said.dtype,
          .shape = said.shape};
}

class AttachedCheckTest : public testing::Test {
 protected:
  // Each is in its own file. Returns the reason for a refusal, or an empty string.
  std::string refusal(const std::vector<SavedEntry>& stripes) {
    inventory_ = Inventory::of(manifest_).or_exit();
    for (const SavedEntry& stripe : stripes) {
      if (Status status = inventory_.add("run/x.parts", 1, {stripe}); !status.ok()) {
        return status.cause();
      }
    }
    for (const Inventory::Attached& attached : inventory_.attached()) {
      Status status = check_whole(attached);
      if (status.ok()) status = check_shape(attached);
      if (!status.ok()) return status.cause();
    }
    return "";
  }
  // Of an attachment in one complete stripe.
  std::string refusal(std::uint64_t bytes, std::optional<Dtype> dtype, const std::string& shape) {
    return refusal({stripe_of(0, bytes, {.total = bytes, .dtype = dtype, .shape = shape})});
  }

  CheckpointManifest manifest_;
  Inventory inventory_ = Inventory::of(manifest_).or_exit();
};

TEST_F(AttachedCheckTest, AcceptsStripesInAnyOrder) {
  EXPECT_EQ(refusal({stripe_of(2, 4), stripe_of(0, 13), stripe_of(1, 7)}), "");
  ASSERT_THAT(inventory_.attached(), SizeIs(1));
  EXPECT_EQ(inventory_.attached()[0].bytes(), 24U);
  EXPECT_EQ(inventory_.attached()[0].elements(), 6U);
  EXPECT_EQ(inventory_.attached()[0].describe(), "'m' of all workers");
  EXPECT_EQ(refusal({stripe_of(0, 24, {}, 1), stripe_of(0, 24), stripe_of(0, 24, {}, 0)}), "");
  ASSERT_THAT(inventory_.attached(), SizeIs(3));
  EXPECT_EQ(inventory_.number_of("m", kOfAll), 1U);
  EXPECT_EQ(inventory_.attached()[inventory_.number_of("m", 0)].describe(), "'m' of worker 0");
}

TEST_F(AttachedCheckTest, StripesThatLackAreNamed) {
  EXPECT_EQ(refusal({stripe_of(0, 20)}),
            "'m' of all workers is there in part: its stripe 1 is not saved, and 20 of 24 bytes "
            "are");
  EXPECT_THAT(refusal({stripe_of(1, 4)}), HasSubstr("its stripe 0 is not saved, and 4 of 24"));
  EXPECT_THAT(refusal({stripe_of(0, 20), stripe_of(2, 4)}),
              HasSubstr("its stripe 1 is not saved, and 24 of 24"));
  EXPECT_THAT(refusal({stripe_of(0xffffffff, 24)}), HasSubstr("its stripe 0 is not saved"));
  EXPECT_THAT(refusal({stripe_of(0, 4, {.total = 1ULL << 63, .shape = ""})}),
              HasSubstr("4 of 9223372036854775808 bytes are"));
}

TEST_F(AttachedCheckTest, RejectsStripesExceedingDeclaredSize) {
  EXPECT_EQ(refusal({stripe_of(0, 20), stripe_of(1, 8)}),
            "'m' of all workers has 28 bytes in 2 stripes, and is said to have 24");
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
  EXPECT_THAT(refusal({stripe_of(0, kMost), stripe_of(1, 25)}), HasSubstr("and is said to have 24"))
      << "their sum does not overflow";
}

TEST_F(AttachedCheckTest, StripesThatAreThereTwiceAreRefused) {
  EXPECT_THAT(refusal({stripe_of(0, 12), stripe_of(0, 12)}),
              HasSubstr("'run/x.parts' is not of this checkpoint: 'm' of all workers is in another "
                        "file too"));
  EXPECT_THAT(refusal({stripe_of(0, 24, {}, 3), stripe_of(0, 24, {}, 3)}),
              HasSubstr("'m' of worker 3 is in another file too"));
}

TEST_F(AttachedCheckTest, StripesThatDisagreeAreRefused) {
  EXPECT_THAT(
      refusal({stripe_of(0, 20), stripe_of(1, 4, {.total = 25})}),
      HasSubstr("'m', stripe 1 of all workers is said to be of 25 bytes in all, and another "
                "stripe of it says 24"));
  EXPECT_THAT(refusal({stripe_of(0, 20), stripe_of(1, 4, {.dtype = Dtype::kI32})}),
              HasSubstr("is said to be i32, and another stripe of it says f32"));
  EXPECT_THAT(refusal({stripe_of(0, 20), stripe_of(1, 4, {.dtype = std::nullopt})}),
              HasSubstr("is said to be bytes, and another stripe of it says f32"));
  EXPECT_THAT(refusal({stripe_of(0, 20), stripe_of(1, 4, {.shape = "3x2"})}),
              HasSubstr("of another shape than another stripe of it says"));
}

// The golden checkpoint predates stripes that state the total of bytes.
TEST_F(AttachedCheckTest, OneStripeThatSaysNoTotalIsAll) {
  EXPECT_EQ(refusal({stripe_of(0, 24, {.total = 0})}), "");
  EXPECT_EQ(inventory_.attached()[0].bytes(), 24U);
  EXPECT_THAT(refusal({stripe_of(1, 24, {.total = 0})}), HasSubstr("its stripe 0 is not saved"));
  EXPECT_THAT(refusal({stripe_of(0, 20, {.total = 0}), stripe_of(1, 4, {.total = 0})}),
              HasSubstr("has 24 bytes in 2 stripes, and is said to have 0"));
}

TEST_F(AttachedCheckTest, ElementsAndShapeMakeUpTheBytes) {
  EXPECT_EQ(refusal(24, Dtype::kF32, ""), "");
  EXPECT_EQ(refusal(24, Dtype::kI64, "3"), "");
  EXPECT_EQ(refusal(24, Dtype::kF16, "bool 3x4"), "");
  EXPECT_EQ(refusal(0, Dtype::kF32, "0x0"), "");
  EXPECT_EQ(refusal(7, std::nullopt, "0x0"), "") << "bytes have no shape";
  EXPECT_EQ(refusal(25, Dtype::kF32, "2x3"),
            "'m' of all workers has 25 bytes, and elements of f32 have 4 each");
  EXPECT_EQ(refusal(24, Dtype::kF32, "0x0"),
            "'m' of all workers has 6 elements of f32, and '0x0' is no shape of so many");
  for (const std::string shape : {"x", "2x2", "2x3x", "4294967296x4294967296x6", "-2x-3", " "}) {
    EXPECT_THAT(refusal(24, Dtype::kF32, shape), HasSubstr("is no shape of so many")) << shape;
  }
  std::string ones = "6";
  for (int i = 0; i < 40; ++i) ones += "x1";
  EXPECT_EQ(refusal(24, Dtype::kF32, ones), "") << "more dimensions than numpy takes";
  while (ones.size() < 100'000) ones += "x1";
  EXPECT_LT(refusal(24, Dtype::kF32, ones).size(), 1000U);
}

}  // namespace
}  // namespace stretto::checkpoint

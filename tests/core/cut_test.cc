// SPDX-License-Identifier: Apache-2.0
// The arithmetic of cutting a tensor into parts.
#include "core/cut.h"

#include <gtest/gtest.h>

#include "tests/van/far_end.h"

namespace stretto {
namespace {

TEST(Cut, AnEmptyTensorHasNoParts) {
  EXPECT_EQ(Cut(fake::spec("x", Dtype::kF32, 0), 64).parts(), 0U);
}

TEST(Cut, OneElementIsOnePart) {
  const Cut cut(fake::spec("x", Dtype::kF64, 1), 64);
  EXPECT_EQ(cut.parts(), 1U);
  EXPECT_EQ(cut.elements_of(0), 1U);
  EXPECT_EQ(cut.bytes_of_part(0), 8U);
  EXPECT_EQ(cut.offset_of(0), 0U);
}

TEST(Cut, ATensorOfExactlyOnePartIsNotCut) {
  EXPECT_EQ(Cut(fake::spec("x", Dtype::kF32, 16), 64).parts(), 1U);
  EXPECT_EQ(Cut(fake::spec("x", Dtype::kF32, 17), 64).parts(), 2U);
}

TEST(Cut, LastPartTakesRemainder) {
  const Cut cut(fake::spec("x", Dtype::kF32, 35), 64);
  ASSERT_EQ(cut.parts(), 3U);
  EXPECT_EQ(cut.elements_of(0), 16U);
  EXPECT_EQ(cut.elements_of(2), 3U);
  EXPECT_EQ(cut.bytes_of_part(2), 12U);
  EXPECT_EQ(cut.offset_of(2), 128U);
}

/// Parts are contiguous, non-empty and not too large, and together they cover the tensor.
TEST(Cut, PartsCoverTheTensorExactly) {
  sim::Random random(7);
  for (int i = 0; i < 2000; ++i) {
    const auto dtype = static_cast<Dtype>(1 + random.below(8));
    const TensorSpec spec = fake::spec("x", dtype, random.below(5000));
    const auto part_bytes = static_cast<std::uint32_t>(64 * (1 + random.below(40)));
    const Cut cut(spec, part_bytes);
    std::size_t end = 0;
    for (std::uint32_t part = 0; part < cut.parts(); ++part) {
      ASSERT_EQ(cut.offset_of(part), end);
      ASSERT_GT(cut.bytes_of_part(part), 0U);
      ASSERT_LE(cut.bytes_of_part(part), part_bytes);
      end += cut.bytes_of_part(part);
    }
    ASSERT_EQ(end, spec.bytes());
  }
}

TEST(Cut, LargeTensorsAreCutWithoutOverflow) {
  const TensorSpec spec = fake::spec("x", Dtype::kF64, std::uint64_t{1} << 39);
  const Cut cut(spec, 1 << 20);
  EXPECT_EQ(cut.parts(), 1U << 22);
  EXPECT_EQ(cut.offset_of(cut.parts() - 1) + cut.bytes_of_part(cut.parts() - 1), spec.bytes());
}

}  // namespace
}  // namespace stretto

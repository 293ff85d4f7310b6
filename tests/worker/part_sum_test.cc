// SPDX-License-Identifier: Apache-2.0
// Sums in the caller's memory, in any order, with few copies.
#include "worker/peer_state/part_sum.h"

#include <gtest/gtest.h>

#include <vector>

namespace stretto {
namespace {

using Integers = std::vector<std::int32_t>;
constexpr auto kSum = ops::ReduceOp::kSum;

class PartSums : public testing::Test {
 protected:
  static std::span<const std::byte> bytes(const Integers& all) {
    return std::as_bytes(std::span(all));
  }
  Integers own_{1, 2, 3};
  Integers target_{9, 9, 9};
  const Integers others_{10, 20, 30};
  PartSum sum_;
};

TEST_F(PartSums, OnesOwnAloneStaysWhereItIs) {
  sum_.begin(bytes(own_), std::as_writable_bytes(std::span(target_)));
  sum_.add_own(kSum, Dtype::kI32);
  EXPECT_EQ(sum_.bytes().data(), bytes(own_).data());
  EXPECT_EQ(target_, (Integers{9, 9, 9})) << "nothing was copied";
  sum_.finish(kSum, Dtype::kI32, 1);
  EXPECT_EQ(target_, (Integers{1, 2, 3}));
}

TEST_F(PartSums, ContributionsComeInAnyOrder) {
  for (const bool own_first : {true, false}) {
    sum_.begin(bytes(own_), std::as_writable_bytes(std::span(target_)));
    if (own_first) sum_.add_own(kSum, Dtype::kI32);
    sum_.add(kSum, Dtype::kI32, bytes(others_));
    if (!own_first) sum_.add_own(kSum, Dtype::kI32);
    sum_.add(kSum, Dtype::kI32, bytes(others_));
    EXPECT_EQ(target_, (Integers{21, 42, 63}));
    EXPECT_EQ(own_, (Integers{1, 2, 3}));
  }
}

TEST_F(PartSums, ASumIsMadeInPlace) {
  sum_.begin(bytes(own_), std::as_writable_bytes(std::span(own_)));
  sum_.add_own(kSum, Dtype::kI32);
  sum_.add(kSum, Dtype::kI32, bytes(others_));
  sum_.finish(kSum, Dtype::kI32, 2);
  EXPECT_EQ(own_, (Integers{11, 22, 33}));
}

TEST_F(PartSums, OtherReductionsAreNoSums) {
  sum_.begin(bytes(own_), std::as_writable_bytes(std::span(target_)));
  sum_.add_own(ops::ReduceOp::kProduct, Dtype::kI32);
  sum_.add(ops::ReduceOp::kProduct, Dtype::kI32, bytes(others_));
  EXPECT_EQ(target_, (Integers{10, 40, 90}));
}

TEST_F(PartSums, OfNothingTheValueIsZeros) {
  sum_.begin({}, std::as_writable_bytes(std::span(target_)));
  sum_.finish(kSum, Dtype::kI32, 3);
  EXPECT_EQ(target_, (Integers{0, 0, 0}));
}

TEST_F(PartSums, AMeanIsDividedOnce) {
  sum_.begin(bytes(own_), std::as_writable_bytes(std::span(target_)));
  sum_.add_own(reduction_of(Rule::kMean), Dtype::kI32);
  sum_.add(reduction_of(Rule::kMean), Dtype::kI32, bytes(Integers{3, 4, 5}));
  sum_.finish(reduction_of(Rule::kMean), Dtype::kI32, 2);
  EXPECT_EQ(target_, (Integers{2, 3, 4}));
}

TEST(Kept, CopiesOnlyTemporarilyLentBuffers) {
  const std::vector<std::byte> lent(8);
  bool ended = false;
  const Buffer copy = to_keep(Buffer::borrow(lent, [&ended] { ended = true; }));
  EXPECT_TRUE(ended);
  EXPECT_NE(copy.data(), lent.data());
  EXPECT_EQ(copy.size(), 8U);
  EXPECT_EQ(to_keep(Buffer::borrow(lent, [] {}, Buffer::Lending::kLasting)).data(), lent.data());
  Buffer ours = Buffer::copy_of(lent);
  const std::byte* const place = ours.data();
  EXPECT_EQ(to_keep(std::move(ours)).data(), place);
}

}  // namespace
}  // namespace stretto

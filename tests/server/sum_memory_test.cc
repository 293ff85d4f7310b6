// SPDX-License-Identifier: Apache-2.0
// Whose memory a sum is made in: adopted, copied, or read where its sender has it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/storage/slot.h"
#include "tests/server/part_fixture.h"

namespace stretto {
namespace {

using fake::bytes_of;
using fake::floats_of;
using testing::ElementsAre;

using Floats = std::vector<float>;

class SumMemoryTest : public PartFixture {
 protected:
  void make_with(Rule rule, Aggregator::Shares shares) {
    spec_ = fake::spec("x", Dtype::kF32, 2, {.update = {.rule = rule}});
    slot_.emplace(0, 0);
    part_ = &add_part(*slot_, spec_, 3, {1, 0}, shares);
  }
};

TEST_F(SumMemoryTest, ReusesExclusiveFirstBufferForSum) {
  make(2);
  Buffer first = bytes_of({1, 2});
  const std::byte* memory = first.data();
  ASSERT_TRUE(share(0, std::move(first)).ok());
  ASSERT_TRUE(share(1, Floats{10, 20}).ok());
  EXPECT_EQ(held().bytes.data(), memory) << "no copy was made";
  EXPECT_THAT(value(), ElementsAre(11, 22));
}

TEST_F(SumMemoryTest, LentMemoryIsCopiedAndNeverWrittenTo) {
  make(2);
  Floats users{1, 2};
  int ended = 0;
  ASSERT_TRUE(
      share(0, Buffer::borrow(std::as_bytes(std::span(users)), [&ended] { ++ended; })).ok());
  EXPECT_EQ(ended, 1) << "the lease is given back when the share has been applied";
  users = {100, 100};
  ASSERT_TRUE(share(1, Floats{10, 20}).ok());
  EXPECT_THAT(value(), ElementsAre(11, 22)) << "what the user does afterwards is not seen";
  EXPECT_THAT(users, ElementsAre(100, 100));
}

TEST_F(SumMemoryTest, KeepsLastingLoansInPlaceUntilRoundEnds) {
  for (const Aggregator::Shares shares : {Aggregator::Shares::kKept, Aggregator::Shares::kAdded}) {
    for (const Rule rule : {Rule::kSum, Rule::kMax}) {
      make_with(rule, shares);
      const bool kept = shares == Aggregator::Shares::kKept;
      const Floats first{1, 200};
      int ended = 0;
      const auto lend = [&first, &ended] {
        return Buffer::borrow(
            std::as_bytes(std::span(first)), [&ended] { ++ended; }, Buffer::Lending::kLasting);
      };
      ASSERT_TRUE(share(0, lend()).ok());
      EXPECT_EQ(ended, kept ? 0 : 1) << "copied while it is in the cache, or not at all";
      ASSERT_TRUE(share(1, lend()).ok());
      EXPECT_EQ(ended, kept ? 0 : 2);
      ASSERT_TRUE(share(2, Floats{10, 20}).ok());
      EXPECT_EQ(ended, 2) << "given back";
      EXPECT_THAT(first, ElementsAre(1, 200)) << "nobody wrote to it";
      EXPECT_THAT(value(), rule == Rule::kSum ? ElementsAre(12, 420) : ElementsAre(10, 200));
    }
  }
}

TEST_F(SumMemoryTest, AValueNeverLiesInMemoryThatIsLent) {
  for (const bool deterministic : {false, true}) {
    make(1, {.deterministic = deterministic});
    Floats users{1, 2};
    int ended = 0;
    ASSERT_TRUE(share(0, Buffer::borrow(
                             std::as_bytes(std::span(users)), [&ended] { ++ended; },
                             Buffer::Lending::kLasting))
                    .ok());
    EXPECT_EQ(ended, 1);
    users = {100, 100};
    EXPECT_THAT(value(), ElementsAre(1, 2));
  }
}

TEST_F(SumMemoryTest, WritableMemoryThatOthersHoldIsCopied) {
  make(2);
  const Buffer shared = bytes_of({1, 2});
  ASSERT_TRUE(share(0, shared).ok());
  ASSERT_TRUE(share(1, Floats{10, 20}).ok());
  EXPECT_THAT(floats_of(shared.bytes()), ElementsAre(1, 2));
  EXPECT_THAT(value(), ElementsAre(11, 22));
}

TEST_F(SumMemoryTest, DeterministicModeCopiesBorrowedMemory) {
  make(2, {.deterministic = true});
  Floats users{1, 2};
  ASSERT_TRUE(share(1, Buffer::borrow(std::as_bytes(std::span(users)), [] {})).ok());
  users = {100, 100};
  ASSERT_TRUE(share(0, Floats{10, 20}).ok());
  EXPECT_THAT(value(), ElementsAre(11, 22));
}

}  // namespace
}  // namespace stretto

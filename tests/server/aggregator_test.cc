// SPDX-License-Identifier: Apache-2.0
// A part's rounds: sums in rank order, leased values that never change, rejected contributions.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "server/storage/slot.h"
#include "tests/server/part_fixture.h"

namespace stretto {
namespace {

using fake::bytes_of;
using fake::floats_of;
using testing::ElementsAre;
using testing::HasSubstr;

using Floats = std::vector<float>;

class AggregatorTest : public PartFixture {};

/// Leased values keep their bytes, whatever is contributed afterwards.
TEST_F(AggregatorTest, ALeasedValueNeverChanges) {
  for (const Mode mode :
       {Mode::kSync, Mode::kBounded, Mode::kAsync, Mode::kEager, Mode::kEagerAsync}) {
    for (const Rule rule : {Rule::kSum, Rule::kSgd}) {
      make(2, {.mode = mode, .bound = 1, .update = {.rule = rule}});
      std::vector<std::pair<Buffer, Floats>> leased;
      for (int round = 1; round <= 5; ++round) {
        const auto number = static_cast<float>(round);
        ASSERT_TRUE(share(0, Floats{number, 1}).ok());
        if (!held().bytes.empty()) leased.emplace_back(held().bytes, value());
        ASSERT_TRUE(share(1, Floats{number, number}).ok());
        leased.emplace_back(held().bytes, value());
        if (round == 3) {
          ASSERT_TRUE(assign(0, {7, 7}).ok());
          ASSERT_TRUE(attend(1, 0).ok());
          leased.emplace_back(held().bytes, value());
        }
      }
      for (const auto& [bytes, numbers] : leased) EXPECT_EQ(floats_of(bytes.bytes()), numbers);
      EXPECT_NE(leased.front().second, leased.back().second) << "something did happen";
    }
  }
}

TEST_F(AggregatorTest, AnUnleasedValueIsUpdatedInPlace) {
  make(1, {.mode = Mode::kAsync});
  ASSERT_TRUE(share(0, Floats{1, 1}).ok());
  const std::byte* memory = held().bytes.data();
  ASSERT_TRUE(share(0, Floats{1, 1}).ok());
  EXPECT_EQ(held().bytes.data(), memory);
  EXPECT_THAT(value(), ElementsAre(2, 2));
}

TEST_F(AggregatorTest, AnEagerValueGrowsByEachRound) {
  make(2, {.mode = Mode::kEager});
  ASSERT_TRUE(assign(0, {10, 20}).ok());
  ASSERT_TRUE(attend(1, 0).ok());
  for (const float round : {1.0F, 2.0F}) {
    ASSERT_TRUE(share(0, Floats{round, 1}).ok());
    EXPECT_EQ(rounds().applied_of(10), rounds().rounds_of(10) - 1)
        << "its share has counted, and is not in the value yet";
    ASSERT_TRUE(share(1, Floats{1, 1}).ok());
  }
  EXPECT_THAT(value(), ElementsAre(10 + 1 + 1 + 2 + 1, 20 + 4));
  EXPECT_EQ(held().version, 3U);
  EXPECT_EQ(rounds().applied_of(10), 3U);
}

TEST_F(AggregatorTest, AnEagerValueGrowsByTheMeanIfThatIsTheRule) {
  make(2, {.mode = Mode::kEager, .update = {.rule = Rule::kMean}});
  for (int round = 0; round < 3; ++round) {
    ASSERT_TRUE(share(0, Floats{1, 2}).ok());
    ASSERT_TRUE(share(1, Floats{3, 2}).ok());
  }
  EXPECT_THAT(value(), ElementsAre(6, 6));
}

// ---- sums

/// Floats of such different magnitudes that every order of summation gives different bits.
const Floats& contrary(Rank rank) {
  static const std::vector<Floats> kShares = {
      {1e8F, 0.1F}, {1.0F, 1e-8F}, {-1e8F, 0.7F}, {3.3F, -0.3F}, {1e-3F, 1e7F}};
  return kShares[rank];
}

TEST_F(AggregatorTest, DeterministicSumsIgnoreArrivalOrder) {
  std::vector<Rank> order(5);
  std::iota(order.begin(), order.end(), 0);
  Floats wanted{0, 0};
  for (Rank rank : order) {
    for (std::size_t i = 0; i < 2; ++i) wanted[i] += contrary(rank)[i];
  }
  do {
    make(5, {.deterministic = true});
    for (int round = 0; round < 2; ++round) {
      for (Rank rank : order) ASSERT_TRUE(share(rank, contrary(rank)).ok());
      ASSERT_EQ(std::memcmp(held().bytes.data(), wanted.data(), 8), 0);
    }
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST_F(AggregatorTest, WithoutItTheOrderShows) {
  const auto sum_in_order = [this](const std::vector<Rank>& order) {
    make(5);
    for (Rank rank : order) EXPECT_TRUE(share(rank, contrary(rank)).ok());
    return value();
  };
  EXPECT_NE(sum_in_order({0, 1, 2, 3, 4}), sum_in_order({0, 2, 1, 3, 4}))
      << "these numbers would prove nothing";
}

TEST_F(AggregatorTest, HalvesAreSummedInRankOrderToo) {
  make(3, {.deterministic = true}, 1, Dtype::kBf16);
  const auto bf16 = [](std::uint16_t bits) {
    return Buffer::copy_of(std::as_bytes(std::span(&bits, 1)));
  };
  ASSERT_TRUE(share(2, bf16(0x3F80)).ok());  // 1
  ASSERT_TRUE(share(1, bf16(0x4000)).ok());  // 2
  ASSERT_TRUE(share(0, bf16(0x4040)).ok());  // 3
  std::uint16_t bits = 0;
  std::memcpy(&bits, held().bytes.data(), 2);
  EXPECT_EQ(bits, 0x40C0);  // 6
}

TEST_F(AggregatorTest, EachRoundStartsFromNothing) {
  make(2);
  for (float round = 1; round < 5; ++round) {
    ASSERT_TRUE(share(0, Floats{round, 0}).ok());
    ASSERT_TRUE(share(1, Floats{round, 1}).ok());
    EXPECT_THAT(value(), ElementsAre(2 * round, 1));
    EXPECT_EQ(held().version, static_cast<std::uint64_t>(round));
    EXPECT_EQ(held().contributors, 2U);
  }
}

TEST_F(AggregatorTest, AValueStaysUntilTheNextRoundIsDone) {
  make(2);
  ASSERT_TRUE(share(0, Floats{1, 1}).ok());
  EXPECT_TRUE(held().bytes.empty());
  ASSERT_TRUE(share(1, Floats{1, 1}).ok());
  ASSERT_TRUE(share(0, Floats{5, 5}).ok());
  EXPECT_THAT(value(), ElementsAre(2, 2));
  EXPECT_EQ(held().version, 1U);
}

TEST_F(AggregatorTest, MeansOfIntegersAreRoundedDown) {
  make(2, {.update = {.rule = Rule::kMean}}, 2, Dtype::kI32);
  const auto integers = [](std::int32_t a, std::int32_t b) {
    const std::int32_t both[] = {a, b};
    return Buffer::copy_of(std::as_bytes(std::span(both)));
  };
  ASSERT_TRUE(share(0, integers(7, -7)).ok());
  ASSERT_TRUE(share(1, integers(0, 0)).ok());
  std::int32_t mean[2];
  std::memcpy(mean, held().bytes.data(), sizeof mean);
  EXPECT_EQ(mean[0], 3);
  EXPECT_EQ(mean[1], -4);
}

TEST_F(AggregatorTest, TheLeastTheGreatestAndTheProductOfARound) {
  const std::pair<Rule, Floats> expected[] = {
      {Rule::kMin, {-3, 2}}, {Rule::kMax, {5, 7}}, {Rule::kProduct, {-15, 28}}};
  for (const auto& [rule, made] : expected) {
    make(3, {.update = {.rule = rule}});
    for (int round = 0; round < 2; ++round) {
      ASSERT_TRUE(share(0, Floats{5, 2}).ok());
      ASSERT_TRUE(share(2, Floats{1, 7}).ok());
      ASSERT_TRUE(share(1, Floats{-3, 2}).ok());
      EXPECT_EQ(value(), made) << name_of(rule) << " of round " << round;
    }
  }
}

TEST_F(AggregatorTest, RulesMoveParametersByTheMeanGradient) {
  make(2, {.update = {.rule = Rule::kSgd, .rate = 0.5}});
  ASSERT_TRUE(assign(0, {10, 20}).ok());
  ASSERT_TRUE(attend(1, 0).ok());
  ASSERT_TRUE(share(0, Floats{1, 2}).ok());
  ASSERT_TRUE(share(1, Floats{3, 6}).ok());
  EXPECT_THAT(value(), ElementsAre(9, 18));
  EXPECT_EQ(held().version, 2U);
}

TEST_F(AggregatorTest, BroadcastResetsOptimizerState) {
  make(1, {.update = {.rule = Rule::kMomentum, .rate = 1, .momentum = 0.5}});
  ASSERT_TRUE(assign(0, {0, 0}).ok());
  ASSERT_TRUE(share(0, Floats{1, 1}).ok());
  ASSERT_TRUE(share(0, Floats{1, 1}).ok());
  EXPECT_THAT(value(), ElementsAre(-2.5F, -2.5F));
  ASSERT_TRUE(assign(0, {0, 0}).ok());
  ASSERT_TRUE(share(0, Floats{1, 1}).ok());
  EXPECT_THAT(value(), ElementsAre(-1, -1));
}

TEST_F(AggregatorTest, AsyncSharesGrowTheValueOneByOne) {
  make(2, {.mode = Mode::kAsync});
  ASSERT_TRUE(share(0, Floats{1, 2}).ok());
  EXPECT_THAT(value(), ElementsAre(1, 2));
  ASSERT_TRUE(share(0, Floats{1, 2}).ok());
  ASSERT_TRUE(share(1, Floats{10, 10}).ok());
  EXPECT_THAT(value(), ElementsAre(12, 14));
  EXPECT_EQ(held().version, 3U);
  EXPECT_EQ(held().contributors, 1U);
}

// ---- refusals

TEST_F(AggregatorTest, AShareOfAnotherSizeIsRefusedWithBothSizes) {
  make(2);
  const Status status = share(1, Floats{1, 2, 3});
  EXPECT_EQ(status.code(), Code::kMismatch);
  EXPECT_THAT(status.cause(), HasSubstr("worker 1 sent 12 bytes for a part of 8"));
  EXPECT_FALSE(rounds().open()) << "a refused share has no effect";
  EXPECT_EQ(share(1, Buffer()).code(), Code::kMismatch);
}

TEST_F(AggregatorTest, AnEmptyShareWhereThereAreNoRoundsIsRefused) {
  make(2, {.mode = Mode::kAsync});
  EXPECT_EQ(contribute({.worker = 10, .round = 1, .absent = true, .bytes = {}}).code(),
            Code::kMalformed);
  EXPECT_EQ(rounds().rounds_of(10), 0U);
}

TEST_F(AggregatorTest, ABroadcastGivesEverybodyTheRootsBytes) {
  make(3);
  ASSERT_TRUE(attend(2, 1).ok());
  ASSERT_TRUE(assign(1, {4, 5}).ok());
  EXPECT_TRUE(held().bytes.empty());
  ASSERT_TRUE(attend(0, 1).ok());
  EXPECT_THAT(value(), ElementsAre(4, 5));
  EXPECT_EQ(held().version, 1U);
}

TEST_F(AggregatorTest, AnotherRootIsAMismatchThatNamesBoth) {
  make(3);
  ASSERT_TRUE(assign(0, {1, 1}).ok());
  for (const Status& status : {assign(1, {2, 2}), attend(1, 2)}) {
    EXPECT_EQ(status.code(), Code::kMismatch);
    EXPECT_THAT(status.cause(), HasSubstr("worker 0 broadcasts from root 0, worker 1 from root "));
  }
  ASSERT_TRUE(attend(1, 0).ok()) << "it may still take part as it should have";
  EXPECT_EQ(attend(2, 1).cause(), "worker 0 broadcasts from root 0, worker 2 from root 1");
  ASSERT_TRUE(attend(2, 0).ok());
  EXPECT_THAT(value(), ElementsAre(1, 1));
  ASSERT_TRUE(attend(0, 1).ok()) << "the next broadcast may have another root";
}

TEST_F(AggregatorTest, EverybodyElseAsRootIsAMismatch) {
  make(2);
  ASSERT_TRUE(attend(0, 1).ok());
  EXPECT_EQ(attend(1, 0).cause(), "worker 0 broadcasts from root 1, worker 1 from root 0");
  ASSERT_TRUE(assign(1, {3, 3}).ok());
  EXPECT_THAT(value(), ElementsAre(3, 3));
}

TEST_F(AggregatorTest, OnlyTheRootOfABroadcastBringsBytes) {
  make(2);
  EXPECT_EQ(attend(1, 1).code(), Code::kMalformed);
  EXPECT_EQ(attend(1, 2).code(), Code::kMalformed) << "there is no such worker";
  const Status status =
      contribute({.worker = 10, .round = 1, .assign = true, .root = 1, .bytes = bytes_of({1, 2})});
  EXPECT_EQ(status.cause(), "worker 0 broadcasts 8 bytes, with root 1 of 2 workers");
}

TEST_F(AggregatorTest, ABroadcastAmongPushesIsAMismatch) {
  for (const bool deterministic : {false, true}) {
    make(3, {.deterministic = deterministic});
    ASSERT_TRUE(share(1, Floats{1, 1}).ok());
    EXPECT_EQ(assign(0, {2, 2}).code(), Code::kMismatch);
    EXPECT_EQ(attend(0, 1).code(), Code::kMismatch);
    ASSERT_TRUE(share(0, Floats{1, 1}).ok());
    ASSERT_TRUE(share(2, Floats{1, 1}).ok());
    EXPECT_THAT(value(), ElementsAre(3, 3));
  }
}

// ---- waiters

TEST_F(AggregatorTest, WaitersAreTakenInOrderWhenTheirGateOpens) {
  make(2);
  for (const Rank rank : {1U, 0U}) {
    ASSERT_TRUE(share(rank, Floats{1, 1}).ok());
    part_->waiting.add(
        {.worker = fake::node_of(rank), .wants_value = true, .gate = gate_, .since = {}});
    if (rank == 1) {
      EXPECT_TRUE(part_->take_ready().empty());
    }
  }
  part_->waiting.add({.worker = 11, .gate = rounds().gate_of_pull(2), .since = {}});
  const auto ready = part_->take_ready();
  ASSERT_EQ(ready.size(), 2U);
  EXPECT_EQ(ready[0].worker, 11U);
  EXPECT_EQ(ready[1].worker, 10U);
  EXPECT_TRUE(part_->take_ready().empty()) << "each is taken once";
  EXPECT_EQ(part_->waiting.size(), 1U);
  EXPECT_EQ(part_->waiting.take_all().size(), 1U);
}

// ---- codecs

class CodedPart : public AggregatorTest {
 protected:
  void make_coded(std::string_view codec, const TensorOptions& like = {},
                  std::uint32_t workers = 2) {
    codec_ = *codec_from(codec);
    TensorOptions options = like;
    options.codec = codec_;
    make(workers, options, 4);
  }
  Status coded_share(Rank rank, const Floats& numbers) {
    Buffer bytes = Buffer::allocate(ops::encoded_bytes(codec_, numbers.size()));
    ops::encode(codec_, numbers, {}, bytes.writable());
    return coded_share(rank, std::move(bytes), codec_.codec);
  }
  Status coded_share(Rank rank, Buffer bytes, Codec codec) {
    return contribute({.worker = fake::node_of(rank),
                       .round = next(rank),
                       .codec = codec,
                       .bytes = std::move(bytes)});
  }
  Floats coded_value() const {
    EXPECT_EQ(held().codec, codec_.codec);
    Floats out(4);
    ops::decode(codec_, held().bytes.bytes(), out, ops::Then::kAssign);
    return out;
  }

  CodecSpec codec_;
};

TEST_F(CodedPart, SharesAreDecodedAndAddedAndTheSumIsEncoded) {
  make_coded("onebit,scaling=true");
  ASSERT_TRUE(coded_share(0, {1, -1, 1, -1}).ok());
  ASSERT_TRUE(coded_share(1, {2, 2, -2, -2}).ok());
  EXPECT_THAT(coded_value(), ElementsAre(2, 2, -2, -2));  // The codec's output for 3, 1, -1, -3.
}

TEST_F(CodedPart, TheServersOwnErrorIsOwedToo) {
  make_coded("topk,k=1,ef=vanilla", {}, 4);
  Floats sum(4);
  for (int round = 1; round <= 40; ++round) {  // Only one of the four is sent each round.
    ASSERT_TRUE(coded_share(0, {1, 0, 0, 0}).ok());
    ASSERT_TRUE(coded_share(1, {0, 1, 0, 0}).ok());
    ASSERT_TRUE(coded_share(2, {0, 0, 1, 0}).ok());
    ASSERT_TRUE(coded_share(3, {0, 0, 0, 1}).ok());
    const Floats out = coded_value();
    for (std::size_t i = 0; i < 4; ++i) sum[i] += out[i];
  }
  for (const float one : sum) EXPECT_NEAR(one, 40, 4);
}

TEST_F(CodedPart, MeansAreEncodedToo) {
  make_coded("fp16", {.update = {.rule = Rule::kMean}});
  ASSERT_TRUE(coded_share(0, {1, 2, 3, 4}).ok());
  ASSERT_TRUE(coded_share(1, {3, 4, 5, 6}).ok());
  EXPECT_THAT(coded_value(), ElementsAre(2, 3, 4, 5));
}

TEST_F(CodedPart, RankOrderHoldsForEncodedShares) {
  make_coded("topk,k=4", {.deterministic = true}, 3);
  ASSERT_TRUE(coded_share(2, {1e8F, 0, 0, 0}).ok());
  ASSERT_TRUE(coded_share(1, {-1e8F, 0, 0, 0}).ok());
  ASSERT_TRUE(coded_share(0, {1, 0, 0, 0}).ok());
  EXPECT_EQ(coded_value()[0], (1 + -1e8F) + 1e8F);
}

TEST_F(CodedPart, BroadcastsAndParametersTravelAsTheyAre) {
  make_coded("topk,k=1", {.update = {.rule = Rule::kSgd, .rate = 1}});
  ASSERT_TRUE(assign(0, {1, 2, 3, 4}).ok());
  ASSERT_TRUE(attend(1, 0).ok());
  EXPECT_EQ(held().codec, Codec::kNone);
  EXPECT_THAT(value(), ElementsAre(1, 2, 3, 4));
  ASSERT_TRUE(coded_share(0, {0, 4, 1, 1}).ok());
  ASSERT_TRUE(coded_share(1, {0, 0, 2, 1}).ok());
  EXPECT_EQ(held().codec, Codec::kNone);
  EXPECT_THAT(value(), ElementsAre(1, 0, 2, 4));  // The means of 4 and of 2 were subtracted.
}

TEST_F(CodedPart, AsyncValueAddsDecodedContributions) {
  make_coded("topk,k=1", {.mode = Mode::kAsync});
  ASSERT_TRUE(coded_share(0, {0, 4, 1, 1}).ok());
  ASSERT_TRUE(coded_share(0, {0, 4, 1, 9}).ok());
  EXPECT_THAT(value(), ElementsAre(0, 4, 0, 9));
}

TEST_F(CodedPart, PushDuringBroadcastKeepsRootBytes) {
  for (const Mode mode : {Mode::kAsync, Mode::kBounded}) {
    make_coded("topk,k=4", {.mode = mode});
    ASSERT_TRUE(coded_share(1, {1, 1, 1, 1}).ok());
    ASSERT_TRUE(assign(0, {1, 2, 3, 4}).ok());
    ASSERT_TRUE(coded_share(1, {10, 10, 10, 10}).ok());
    EXPECT_THAT(value(), ElementsAre(11, 11, 11, 11)) << "what is set is not seen before its round";
    ASSERT_TRUE(attend(1, 0).ok());
    EXPECT_THAT(value(), ElementsAre(1, 2, 3, 4));
  }
}

TEST_F(CodedPart, APushDuringABroadcastIsNotTakenForTheRoots) {
  make_coded("topk,k=4", {.mode = Mode::kAsync});
  ASSERT_TRUE(attend(0, 1).ok());
  ASSERT_TRUE(coded_share(1, {10, 10, 10, 10}).ok());
  EXPECT_THAT(attend(1, 0).cause(), HasSubstr("worker 1 from root 0"));
  ASSERT_TRUE(assign(1, {1, 2, 3, 4}).ok());
  EXPECT_THAT(value(), ElementsAre(1, 2, 3, 4));
}

TEST_F(CodedPart, RefusesMalformedContribution) {
  make_coded("topk,k=1");
  EXPECT_EQ(share(0, {1, 2, 3, 4}).code(), Code::kMismatch);
  EXPECT_THAT(share(0, {1, 2, 3, 4}).cause(), HasSubstr("sent a share as none, wanted topk"));
  EXPECT_EQ(coded_share(0, Buffer::allocate(8), Codec::kFp16).code(), Code::kMismatch);
  EXPECT_EQ(coded_share(0, Buffer::allocate(7), Codec::kTopk).code(), Code::kMalformed);
  const std::uint32_t outside[] = {4, 0};
  const Status status =
      coded_share(0, Buffer::copy_of(std::as_bytes(std::span(outside))), Codec::kTopk);
  EXPECT_THAT(status.cause(), HasSubstr("worker 0: place 4 of 4 elements"));
  EXPECT_FALSE(rounds().open());
  make(2);
  EXPECT_EQ(coded_share(0, Buffer::allocate(8), Codec::kFp16).code(), Code::kMismatch);
}

}  // namespace
}  // namespace stretto

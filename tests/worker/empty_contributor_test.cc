// SPDX-License-Identifier: Apache-2.0
// What a worker whose program sits out does with the wishes of shards.
#include "worker/barriers/empty_contributor.h"

#include "tests/worker/exchanges_fixture.h"

namespace stretto {
namespace {

using fake::ExchangeTest;

class EmptyContributorTest : public ExchangeTest {
 protected:
  void wish(std::uint32_t part, std::uint64_t round) {
    stand_in_.on_wanted({.spec = tensors_.find(1)->spec, .part = part, .round = round});
    step();
  }
  /// Frames that were pushed: all empty.
  std::size_t pushed() {
    const std::vector<fake::Sent> frames = shard_.data();
    for (const fake::Sent& frame : frames) {
      EXPECT_EQ(frame.header.kind, wire::Kind::kPush);
      EXPECT_EQ(frame.header.flags & wire::kAbsent, wire::kAbsent);
      EXPECT_TRUE(frame.payload.empty());
    }
    return frames.size();
  }

  EmptyContributor stand_in_{
      tensors_,
      exchange_,
      {.declare =
           [this](const TensorSpec& spec, const EmptyContributor::Declared& done) {
             declared_ = spec;
             done(Tensor{1, spec.dtype, spec.elements});
           },
       .tell = [this](const control::SitOut& said) { told_.push_back(said); }}};
  std::vector<control::SitOut> told_;
  std::optional<TensorSpec> declared_;
};

TEST_F(EmptyContributorTest, FirstWishPushesEmptySharesOfAllParts) {
  add(1, 5);
  stand_in_.begin(1);
  wish(1, 1);
  EXPECT_EQ(pushed(), 3U);
  EXPECT_EQ(declared_->name, "tensor1");
  EXPECT_EQ(declared_->options.codec, CodecSpec()) << "no rule of ours applies";
  for (const std::uint32_t part : {0U, 1U, 2U}) wish(part, 1);
  EXPECT_EQ(pushed(), 0U) << "it is the same round";
}

TEST_F(EmptyContributorTest, IgnoresRoundsProgramContributesTo) {
  add(1, 2);
  wish(0, 1);
  EXPECT_EQ(pushed(), 0U) << "it does not sit out";
  const Floats source{1, 2};
  start(Kind::kPush, 1, &source, nullptr);
  shard_.data();
  start(Kind::kPush, 1, &source, nullptr);  // Waits for the first.
  stand_in_.begin(1);
  wish(0, 1);
  wish(0, 2);
  EXPECT_EQ(pushed(), 0U);
}

TEST_F(EmptyContributorTest, TellsShardsFromWhenAndUntilWhen) {
  EXPECT_TRUE(stand_in_.refusal().ok());
  stand_in_.begin(3);
  EXPECT_EQ(told_.back().number, 3U);
  EXPECT_FALSE(told_.back().over);
  EXPECT_THAT(stand_in_.refusal().cause(), testing::HasSubstr("sits out until all do"));
  stand_in_.end();
  EXPECT_EQ(told_.back().number, 3U);
  EXPECT_TRUE(told_.back().over);
  stand_in_.begin(4);
  stand_in_.give_up();
  EXPECT_EQ(told_.back().number, 0U);
  EXPECT_TRUE(stand_in_.refusal().ok());
}

TEST_F(EmptyContributorTest, RestsOnlyAfterOwnRoundsEnd) {
  add(1, 2);
  EXPECT_TRUE(stand_in_.at_rest());
  stand_in_.begin(1);
  wish(0, 1);
  ack(1);
  EXPECT_TRUE(exchange_.operations().idle());
  EXPECT_FALSE(stand_in_.at_rest()) << "its push has ended, and the round has not";
  done({1, 0}, 1);
  EXPECT_TRUE(stand_in_.at_rest());
}

}  // namespace
}  // namespace stretto

// SPDX-License-Identifier: Apache-2.0
// What waits at a member for its calls.
#include "worker/peer_state/group_state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "collective/strategies.h"
#include "worker/peer_path/progress_frame.h"
#include "worker/peer_state/peer_tensor.h"

namespace stretto {
namespace {

using testing::HasSubstr;

class GroupStateTest : public testing::Test {
 protected:
  static constexpr std::uint32_t kPartBytes = 4096;

  static GroupState make(std::uint32_t members, std::uint32_t part_bytes = kPartBytes) {
    const std::vector<std::uint32_t> machines(members);
    return {*collective::strategy_of(plan_of(Exchange::kDirect), machines),
            collective::Reduction::Order::kArrival, part_bytes};
  }
  static GroupState::Early early(std::size_t bytes) {
    return {.from = 1, .frame = {}, .payload = Buffer::allocate(bytes)};
  }
};

TEST_F(GroupStateTest, AllowanceIsOfPartsUpTo64Mebibytes) {
  EXPECT_EQ(make(2).ahead_bytes, 256U * kPartBytes);
  EXPECT_EQ(make(2, 256 << 10).ahead_bytes, 64U << 20);
  EXPECT_EQ(make(2, 16 << 20).ahead_bytes, 64U << 20);
}

TEST_F(GroupStateTest, MembersShareTheAllowance) {
  GroupState pair = make(2);
  GroupState five = make(5);
  EXPECT_TRUE(pair.ahead_of(1).admit({1, 0}, 200 * kPartBytes));
  EXPECT_FALSE(five.ahead_of(1).admit({1, 0}, 200 * kPartBytes));
  EXPECT_TRUE(five.ahead_of(2).admit({1, 0}, 60 * kPartBytes));
  EXPECT_TRUE(five.ahead_of(3).admit({1, 0}, 60 * kPartBytes)) << "of each its own";
}

TEST_F(GroupStateTest, KeptFramesComeWithTheirCall) {
  GroupState state = make(2);
  EXPECT_TRUE(state.keep({.number = 2}, early(10)).ok());
  EXPECT_TRUE(state.keep({.number = 1}, early(20)).ok());
  ASSERT_EQ(state.take_early({.number = 2}).size(), 1U);
  EXPECT_TRUE(state.take_early({.number = 2}).empty());
  ASSERT_EQ(state.take_early({.number = 1}).size(), 1U);
}

TEST_F(GroupStateTest, QuestionWaitsForItsCall) {
  GroupState state = make(3);
  EXPECT_TRUE(state.keep({.from = 1, .priority = 4}, 2).ok());
  EXPECT_TRUE(state.keep({.from = 2, .priority = 5}, 1).ok());
  EXPECT_TRUE(state.take_questions().empty());
  state.begin({.call = {.kind = CallKind::kBarrier}});
  const std::vector<GroupState::Question> first = state.take_questions();
  ASSERT_EQ(first.size(), 1U);
  EXPECT_EQ(first[0].from, 2U);
  state.begin({.call = {.kind = CallKind::kBarrier}});
  ASSERT_EQ(state.take_questions().size(), 1U);
  EXPECT_TRUE(state.keep({.from = 1}, 1).ok());
  EXPECT_EQ(state.take_questions().size(), 1U) << "that has begun long ago";
}

TEST_F(GroupStateTest, MemberThatExceedsTheAllowanceIsRefused) {
  GroupState state = make(2);
  EXPECT_TRUE(state.keep({.number = 1}, early(state.ahead_bytes)).ok());
  EXPECT_TRUE(state.keep({.number = 2}, early(state.ahead_bytes)).ok());
  const Status status = state.keep({.number = 3}, early(1));
  EXPECT_EQ(status.code(), Code::kMalformed);
  EXPECT_THAT(status.cause(), HasSubstr("member 1 is at call 3, this one at 1"));
}

TEST(ProgressFrame, HeaderRoundTripsAndIdentifiesFrame) {
  for (const bool asks : {false, true}) {
    const wire::Header header =
        ProgressFrame{.asks = asks, .tensor = 7, .number = 9, .priority = -3}.header();
    ASSERT_TRUE(wire::decode(wire::encode(header), 0).ok());
    ASSERT_TRUE(ProgressFrame::is_one(header));
    const ProgressFrame frame = ProgressFrame::of(header);
    EXPECT_EQ(frame.asks, asks);
    EXPECT_EQ(frame.tensor, 7U);
    EXPECT_EQ(frame.number, 9U);
    EXPECT_EQ(frame.priority, -3);
  }
  EXPECT_FALSE(ProgressFrame::is_one(wire::GroupFrame{}.header()));
}

}  // namespace
}  // namespace stretto

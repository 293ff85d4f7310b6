// SPDX-License-Identifier: Apache-2.0
// One part of a tensor with quorum rounds: sums at the root, values that wait, and withheld
// contributions.
#include "worker/peer_state/quorum_part.h"

#include <gtest/gtest.h>

namespace stretto {
namespace {

using Floats = std::vector<float>;
constexpr auto kAverage = ops::ReduceOp::kAverage;

std::span<const std::byte> bytes_of(const Floats& all) { return std::as_bytes(std::span(all)); }
Floats floats_of(std::span<const std::byte> bytes) {
  Floats all(bytes.size() / sizeof(float));
  std::ranges::copy(bytes, std::as_writable_bytes(std::span(all)).begin());
  return all;
}

TEST(QuorumPart, AMeanIsOverAllThatCount) {
  QuorumPart part;
  part.add(kAverage, Dtype::kF32, bytes_of({3, 6}));
  part.add(kAverage, Dtype::kF32, {});  // An empty contribution.
  part.add(kAverage, Dtype::kF32, bytes_of({6, 3}));
  const QuorumPart::Value value = part.make_value(kAverage, Dtype::kF32, 8, true);
  EXPECT_EQ(floats_of(value.bytes.bytes()), (Floats{3, 3}));
  EXPECT_EQ(value.contributors, 3U);
  EXPECT_TRUE(value.without_ours);
  // The next round's sum starts empty.
  EXPECT_EQ(floats_of(part.make_value(kAverage, Dtype::kF32, 8, false).bytes.bytes()),
            (Floats{0, 0}));
}

TEST(QuorumPart, WithheldSharesJoinNextContribution) {
  QuorumPart part;
  const Floats one{1, 2};
  part.withhold(Dtype::kF32, bytes_of(one));
  part.withhold(Dtype::kF32, bytes_of({10, 20}));
  const QuorumPart::Share all = part.share_of(Dtype::kF32, bytes_of({100, 200}));
  EXPECT_EQ(floats_of(all.bytes.bytes()), (Floats{111, 222}));
  EXPECT_EQ(all.from, 3U);
  const QuorumPart::Share next = part.share_of(Dtype::kF32, bytes_of(one));
  EXPECT_EQ(floats_of(next.bytes.bytes()), one);
  EXPECT_EQ(next.from, 1U);
  // A mean counts each of the joined contributions.
  part.add(kAverage, Dtype::kF32, all.bytes.bytes(), all.from);
  part.add(kAverage, Dtype::kF32, bytes_of({9, 18}));
  EXPECT_EQ(floats_of(part.make_value(kAverage, Dtype::kF32, 8, false).bytes.bytes()),
            (Floats{30, 60}));
}

TEST(QuorumPart, ValuesWaitForTheirRounds) {
  QuorumPart part;
  EXPECT_TRUE(part.may_come(4));
  EXPECT_FALSE(part.may_come(5)) << "more than three behind are waited for";
  EXPECT_FALSE(part.may_come(0));
  part.values[2] = {.bytes = Buffer::copy_of(bytes_of({2}))};
  part.values[1] = {.bytes = Buffer::copy_of(bytes_of({1}))};
  EXPECT_FALSE(part.may_come(2)) << "it has come";
  for (const float round : {1.0F, 2.0F}) {
    ++part.begun;
    EXPECT_EQ(floats_of(part.take().bytes.bytes()), Floats{round});
  }
  EXPECT_TRUE(part.values.empty());
  EXPECT_TRUE(part.may_come(6));
}

TEST(QuorumPart, ReusesValueMemoryOnceUnread) {
  QuorumPart part;
  part.rounds.emplace(2, CloseOptions{.quorum = 1});
  const Floats share{1, 2};
  part.add(kAverage, Dtype::kF32, bytes_of(share));
  part.values[1] = part.make_value(kAverage, Dtype::kF32, 8, false);
  const std::byte* memory = part.values[1].bytes.data();
  ++part.begun;
  {
    const QuorumPart::Value taken = part.take();
    part.add(kAverage, Dtype::kF32, bytes_of(share));
    const QuorumPart::Value other = part.make_value(kAverage, Dtype::kF32, 8, false);
    EXPECT_NE(other.bytes.data(), memory) << "somebody reads it";
  }
  part.add(kAverage, Dtype::kF32, bytes_of(share));
  EXPECT_EQ(part.make_value(kAverage, Dtype::kF32, 8, false).bytes.data(), memory);
}

}  // namespace
}  // namespace stretto

// SPDX-License-Identifier: Apache-2.0
// Which tensors go to all members, in which order contributions are added, and which part begins.
#include "worker/operations/host_part.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>

namespace stretto {
namespace {

using testing::ElementsAre;
using Bytes = std::span<const std::byte>;

template <typename Number>
Buffer buffer_of(const std::vector<Number>& numbers) {
  return Buffer::copy_of(std::as_bytes(std::span(numbers)));
}

std::vector<float> value_of(ops::ReduceOp op, const std::vector<std::vector<float>>& given,
                            std::uint32_t contributors) {
  std::vector<Bytes> contributions;
  for (const std::vector<float>& each : given) {
    contributions.push_back(std::as_bytes(std::span(each)));
  }
  std::vector<float> value(2, -1.0F);
  make_value_of_all(op, Dtype::kF32, std::as_writable_bytes(std::span(value)), contributions,
                    contributors);
  return value;
}

TEST(HostPart, TwoMembersOfAHostGiveSmallTensorsToAll) {
  EXPECT_TRUE(goes_to_all({3, 3}, 524'288));
  EXPECT_FALSE(goes_to_all({3, 3}, 524'289));
  EXPECT_FALSE(goes_to_all({3, 4}, 8)) << "they are on two hosts";
  EXPECT_FALSE(goes_to_all({3}, 8)) << "there is nobody to give to";
  EXPECT_FALSE(goes_to_all({}, 8));
  EXPECT_FALSE(goes_to_all({0, 0, 0}, 8)) << "each would read what two others give";
}

TEST(HostPart, ValuesAreMadeOfAllContributions) {
  EXPECT_THAT(value_of(ops::ReduceOp::kSum, {{1, 2}, {10, 20}, {100, 200}}, 3),
              ElementsAre(111, 222));
  EXPECT_THAT(value_of(ops::ReduceOp::kAverage, {{1, 2}, {3, 6}}, 4), ElementsAre(1, 2));
  EXPECT_THAT(value_of(ops::ReduceOp::kMax, {{1, 6}, {3, 2}, {2, 2}}, 3), ElementsAre(3, 6));
  EXPECT_THAT(value_of(ops::ReduceOp::kSum, {{5, 7}}, 2), ElementsAre(5, 7));
  EXPECT_THAT(value_of(ops::ReduceOp::kSum, {}, 2), ElementsAre(0, 0));
}

TEST(HostPart, TheFirstMembersContributionComesFirst) {
  HostPart part{.first = 2};
  part.own = buffer_of<std::uint8_t>({1});
  for (const collective::Place from : {3U, 2U, 0U}) {
    part.here.push_back({.from = from,
                         .frame = {.absent = from == 3},
                         .payload = buffer_of<std::uint8_t>({std::uint8_t(from)})});
  }
  std::vector<int> order;
  for (const Bytes bytes : part.contributions(1)) order.push_back(static_cast<int>(bytes[0]));
  EXPECT_THAT(order, ElementsAre(2, 0, 1)) << "whoever came first; 3 gave nothing";
}

TEST(HostPart, AMemberMayBeOneRoundAhead) {
  using enum HostPart::Verdict;
  HostPart part;
  EXPECT_EQ(part.admit(1), kNow);
  EXPECT_EQ(part.admit(2), kWrong) << "that wants our contribution to round 1";
  EXPECT_EQ(part.admit(0), kWrong);
  part.begun = 1;
  EXPECT_EQ(part.admit(2), kNext);
  EXPECT_EQ(part.admit(3), kWrong);
  part.ahead.push_back({.from = 1, .frame = {}, .payload = {}});
  part.here.push_back({.from = 1, .frame = {}, .payload = {}});
  EXPECT_TRUE(part.is_whole(2));
  EXPECT_FALSE(part.is_whole(3));
  part.next_round();
  EXPECT_EQ(part.here.size(), 1U) << "what came ahead is of the open round now";
  EXPECT_FALSE(part.is_whole(2)) << "we have not contributed";
  EXPECT_EQ(part.admit(1), kWrong);
}

}  // namespace
}  // namespace stretto

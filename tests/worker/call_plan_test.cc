// SPDX-License-Identifier: Apache-2.0
// The plans of all members of a group, compared: each part has one tree, whose members all have it
// under the same key, with memory of the same size.
#include "worker/operations/call_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "worker/peer_state/peer_tensor.h"

namespace stretto {
namespace {

using collective::kNobody;
using testing::HasSubstr;

constexpr std::uint32_t kBytesOfPart = 4096;

/// A member's memory and its call.
struct Caller {
  std::vector<std::byte> source;
  std::vector<std::byte> target;
  GroupCallArgs call;
};

Caller caller_of(CallKind kind, std::uint64_t elements, std::uint32_t members,
                 collective::Place self) {
  const bool at_root = self == 0;
  Caller made{.source = {}, .target = {}, .call = {.call = {.kind = kind, .elements = elements}}};
  std::size_t source = elements;
  std::size_t target = elements;
  if (kind == CallKind::kBarrier) source = target = 0;
  if (kind == CallKind::kReduce && !at_root) target = 0;
  if (kind == CallKind::kBroadcast && !at_root) source = 0;
  if (kind == CallKind::kAllGather || kind == CallKind::kAllToAll) target *= members;
  if (kind == CallKind::kReduceScatter || kind == CallKind::kAllToAll) source *= members;
  if (kind == CallKind::kGather) target *= at_root ? members : 0;
  if (kind == CallKind::kScatter) source *= at_root ? members : 0;
  made.source.resize(source);
  made.target.resize(target);
  return made;
}

struct PlanCase {
  CallKind kind;
  Exchange exchange;
  std::uint32_t members;
};

using Machines = std::vector<std::uint32_t>;

class CallPlans : public testing::TestWithParam<PlanCase> {};

TEST_P(CallPlans, OfAllMembersMeet) {
  const PlanCase& param = GetParam();
  const GroupTrees trees(
      *collective::strategy_of(plan_of(param.exchange), Machines(param.members)));
  for (const std::uint64_t elements : {0U, 1U, 5000U, 100'000U}) {
    std::map<std::tuple<std::uint32_t, collective::Place, collective::Place>,
             std::set<collective::Place>>
        parents;
    std::map<std::tuple<std::uint32_t, collective::Place, collective::Place>,
             std::set<collective::Place>>
        children;
    std::map<std::uint32_t, std::size_t> sizes;
    for (collective::Place self = 0; self < param.members; ++self) {
      Caller caller = caller_of(param.kind, elements, param.members, self);
      caller.call.source = caller.source;
      caller.call.target = caller.target;
      ASSERT_TRUE(check(caller.call, param.members, self).ok())
          << check(caller.call, param.members, self).text();
      const Result<CallPlan> plan = plan_of(caller.call, trees, self, kBytesOfPart);
      ASSERT_TRUE(plan.ok()) << plan.status().text();
      std::size_t wanted = 0;  // Bytes that this member receives.
      for (const PlannedPart& part : plan->parts) {
        EXPECT_EQ(part.node.self, self);
        EXPECT_LE(part.target.size(), kBytesOfPart);
        const std::size_t bytes = std::max(part.source.size(), part.target.size());
        const auto known = sizes.emplace(part.key, bytes).first;
        EXPECT_EQ(known->second, bytes);
        wanted += part.target.size();
        if (!part.node.is_root()) parents[{part.key, self, part.node.parent}].insert(self);
        for (const collective::Place child : part.node.children) {
          children[{part.key, child, self}].insert(child);
        }
      }
      for (const CallPlan::Copy& copy : plan->copies) wanted += copy.to.size();
      EXPECT_EQ(wanted, caller.target.size());
    }
    EXPECT_EQ(parents, children) << "who sends up is awaited, and the other way round";
  }
}

std::vector<PlanCase> plan_cases() {
  std::vector<PlanCase> all;
  for (int kind = 1; kind < static_cast<int>(CallKind::kSend); ++kind) {
    for (const Exchange exchange : {Exchange::kDirect, Exchange::kRing, Exchange::kTree}) {
      for (const std::uint32_t members : {1U, 2U, 5U}) {
        all.push_back({static_cast<CallKind>(kind), exchange, members});
      }
    }
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(All, CallPlans, testing::ValuesIn(plan_cases()), [](const auto& each) {
  return std::string(name_of(each.param.kind)) + "By" + std::string(name_of(each.param.exchange)) +
         std::to_string(each.param.members);
});

TEST(CallPlan, EachMemberIsTheRootOfItsPieceOfASum) {
  const GroupTrees trees(*collective::strategy_of(plan_of(Exchange::kDirect), Machines(4)));
  std::vector<std::byte> data(65536);
  const GroupCallArgs call{.call = {.kind = CallKind::kAllReduce, .elements = data.size()},
                           .source = data,
                           .target = data};
  const CallPlan plan = *plan_of(call, trees, 0, 1U << 20);
  ASSERT_EQ(plan.parts.size(), 4U);
  for (const PlannedPart& part : plan.parts) EXPECT_EQ(part.target.size(), 16384U);
}

// Otherwise, with few parts over trees, one member could wait for its children while all others, in
// a different call, wait at the first member.
TEST(CallPlan, SmallCallsAreHeardOfByTheFirstMember) {
  for (const Exchange exchange : {Exchange::kRing, Exchange::kHalving, Exchange::kTree}) {
    const GroupTrees trees(*collective::strategy_of(plan_of(exchange), Machines(5)));
    const auto meets = [&](std::uint64_t elements) {
      const Caller caller = caller_of(CallKind::kAllReduce, elements, 5, 2);
      GroupCallArgs call = caller.call;
      call.source = caller.source;
      call.target = std::span(const_cast<std::byte*>(caller.target.data()), caller.target.size());
      const CallPlan plan = *plan_of(call, trees, 2, kBytesOfPart);
      return plan.parts.back().key == wire::GroupFrame::key_part(kMostGroupPlaces, 0);
    };
    EXPECT_TRUE(meets(0) && meets(1) && meets(3 * kBytesOfPart)) << name_of(exchange);
    EXPECT_FALSE(meets(5 * kBytesOfPart)) << name_of(exchange);
  }
}

TEST(CallPlan, MorePartsThanHaveNamesAreRefused) {
  const GroupTrees trees(*collective::strategy_of(plan_of(Exchange::kDirect), Machines(2)));
  // The test never reads these bytes.
  const std::span<std::byte> huge(static_cast<std::byte*>(nullptr), std::size_t{64} << 20);
  const GroupCallArgs call{
      .call = {.kind = CallKind::kReduce, .elements = huge.size()}, .source = huge, .target = huge};
  EXPECT_THAT(plan_of(call, trees, 0, 64).status().text(), HasSubstr("STRETTO_PART_BYTES"));
}

TEST(CallPlan, InvalidCallsAreRejected) {
  std::vector<std::byte> ten(10);
  const auto text = [&ten](GroupCall call) {
    return check({.call = call, .source = ten, .target = ten}, 2, 0).text();
  };
  EXPECT_EQ(text({.kind = CallKind::kAllReduce, .elements = 10}), "Ok");
  EXPECT_THAT(text({.kind = CallKind::kAllReduce, .elements = 11}),
              HasSubstr("the source has 10 bytes, wanted 11 elements of u8"));
  EXPECT_THAT(text({.kind = CallKind::kBroadcast, .root = 2, .elements = 10}),
              HasSubstr("root 2 of 2 members"));
  EXPECT_THAT(text({.kind = CallKind::kAllReduce, .op = ReduceOp::kAverage, .elements = 10}),
              HasSubstr("an average is of f32, f64 or i64"));
  EXPECT_THAT(text({.kind = CallKind::kAllReduce, .dtype = static_cast<Dtype>(99)}),
              HasSubstr("not known"));
  const GroupCallArgs unlike{.call = {.kind = CallKind::kAllToAll},
                             .source = ten,
                             .target = ten,
                             .give = {~std::uint64_t{0}, 11},
                             .take = {5, 5}};
  EXPECT_THAT(check(unlike, 2, 0).text(), HasSubstr("2^40"));
}

// With n blocks, another member's block would be written before it is sent, or vice versa.
TEST(CallPlan, OnlyItsOwnBlockIsInPlace) {
  std::vector<std::byte> memory(40);
  const std::span<std::byte> all(memory);
  const auto text = [](CallKind kind, std::span<const std::byte> source,
                       std::span<std::byte> target) {
    const std::uint64_t elements = std::min(source.size(), target.size());
    const GroupCall call{.kind = kind, .root = 1, .elements = elements};
    return check({.call = call, .source = source, .target = target}, 4, 1).text();
  };
  for (std::size_t block = 0; block < 4; ++block) {
    const std::span<std::byte> one = all.subspan(10 * block, 10);
    const auto wanted = block == 1 ? testing::Matcher<std::string>("Ok")
                                   : testing::Matcher<std::string>(HasSubstr("overlaps"));
    EXPECT_THAT(text(CallKind::kReduceScatter, all, one), wanted) << block;
    EXPECT_THAT(text(CallKind::kAllGather, one, all), wanted) << block;
    EXPECT_THAT(text(CallKind::kScatter, all, one), wanted) << block;
    EXPECT_THAT(text(CallKind::kGather, one, all), wanted) << block;
  }
  const auto half = [&all](std::size_t from) { return all.subspan(from, 20); };
  EXPECT_EQ(text(CallKind::kAllReduce, half(0), half(20)), "Ok");
  EXPECT_EQ(text(CallKind::kAllReduce, half(4), half(4)), "Ok");
  EXPECT_THAT(text(CallKind::kAllReduce, half(0), half(4)), HasSubstr("overlaps"));
}

}  // namespace
}  // namespace stretto

// SPDX-License-Identifier: Apache-2.0
// The strategy of a tensor whose exchange is not pinned, before any measurement.
#include "worker/peer_state/exchange_selection.h"

#include <gtest/gtest.h>

namespace stretto {
namespace {

/// A roster of workers and shards on these machines; worker 0 is node 10.
Roster roster_of(const std::vector<std::uint64_t>& workers,
                 const std::vector<std::uint64_t>& shards) {
  Roster roster{.workers = static_cast<std::uint32_t>(workers.size()),
                .servers = static_cast<std::uint32_t>(shards.size())};
  const auto add = [&roster](Role role, Rank rank, std::uint64_t machine) {
    Member member;
    member.node = 10 + static_cast<NodeId>(roster.members.size());
    member.role = role;
    member.rank = rank;
    member.machine = machine;
    roster.members.push_back(member);
  };
  for (Rank rank = 0; rank < workers.size(); ++rank) add(Role::kWorker, rank, workers[rank]);
  for (Rank rank = 0; rank < shards.size(); ++rank) add(Role::kServer, rank, shards[rank]);
  return roster;
}

Exchange exchange_of(const Roster& roster, const TensorOptions& options = {},
                     const std::vector<Rank>& group = {}, Dtype dtype = Dtype::kF32) {
  TensorSpec spec{.name = "t", .dtype = dtype, .elements = 4 << 20, .options = options};
  spec.options.exchange = Exchange::kAuto;
  return settled(spec, roster, 10, group).options.exchange;
}

const Roster kFourApart = roster_of({1, 2, 3, 4}, {1, 2, 3, 4});

TEST(Settled, PinnedExchangeIsKept) {
  const TensorSpec spec{.name = "t", .elements = 100, .options = {.exchange = Exchange::kRing}};
  EXPECT_EQ(settled(spec, kFourApart, 10, {}), spec);
}

TEST(Settled, WorkersAddUpBesideServersOnTheirMachines) {
  EXPECT_EQ(exchange_of(kFourApart), Exchange::kAuto);
  EXPECT_EQ(exchange_of(roster_of({1, 2, 3, 4}, {})), Exchange::kAuto);
  EXPECT_EQ(exchange_of(roster_of({1, 1, 2}, {1})), Exchange::kAuto);
  EXPECT_EQ(exchange_of(roster_of({1, 1}, {1})), Exchange::kDirect) << "they are on one host";
  TensorSpec empty{.name = "t", .elements = 0, .options = {.exchange = Exchange::kAuto}};
  EXPECT_EQ(settled(empty, kFourApart, 10, {}).options.exchange, Exchange::kAuto);
}

/// The servers' links carry n each then; workers would carry 1.5 n among themselves.
TEST(Settled, ServersWithLinksOfTheirOwnAreFaster) {
  EXPECT_EQ(exchange_of(roster_of({1, 2, 3, 4}, {5, 6, 7, 8})), Exchange::kServers);
  EXPECT_EQ(exchange_of(roster_of({1, 2, 3, 4}, {5})), Exchange::kAuto);
}

TEST(Settled, ServerOnlyOptionsSelectServers) {
  EXPECT_EQ(exchange_of(kFourApart, {.mode = Mode::kAsync}), Exchange::kServers);
  EXPECT_EQ(exchange_of(kFourApart, {.update = {.rule = Rule::kSgd}}), Exchange::kServers);
  EXPECT_EQ(exchange_of(kFourApart, {.codec = CodecSpec{.codec = Codec::kOnebit}}),
            Exchange::kServers);
  EXPECT_EQ(exchange_of(kFourApart, {.update = {.rule = Rule::kMean}}, {}, Dtype::kF16),
            Exchange::kServers);
  Roster elastic = kFourApart;
  elastic.settings.min_workers = 2;
  EXPECT_EQ(exchange_of(elastic), Exchange::kServers);
  EXPECT_EQ(exchange_of(elastic, {}, {0, 1, 2}), Exchange::kDirect) << "servers have no groups";
}

TEST(Settled, GroupsAndFixedBitsGoByOneStrategyForEver) {
  EXPECT_EQ(exchange_of(kFourApart, {.deterministic = true}), Exchange::kDirect);
  EXPECT_EQ(exchange_of(kFourApart, {}, {0, 1, 2}), Exchange::kDirect);
  const Roster two_machines = roster_of({1, 1, 1, 2, 2, 2}, {});
  EXPECT_EQ(exchange_of(two_machines, {.deterministic = true}), Exchange::kHierarchical);
  EXPECT_EQ(exchange_of(two_machines, {}, {0, 1, 3, 4}), Exchange::kHierarchical);
}

TEST(Fits, ElasticJobsHaveNoRoundsThatCloseEarly) {
  TensorSpec spec{.name = "t", .options = {.exchange = Exchange::kDirect, .close = {.quorum = 3}}};
  Roster roster = kFourApart;
  EXPECT_TRUE(fits(spec, roster).ok());
  spec.options.close.quorum = 5;
  EXPECT_EQ(fits(spec, roster).code(), Code::kInvalidArgument);
  spec.options.close.quorum = 3;
  roster.settings.min_workers = 2;
  EXPECT_EQ(fits(spec, roster).code(), Code::kUnsupported);
}

}  // namespace
}  // namespace stretto

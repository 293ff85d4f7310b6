// SPDX-License-Identifier: Apache-2.0
// Round times on networks for which they can be calculated by hand.
#include "collective/cost_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "collective/ownership_weights.h"
#include "collective/strategies.h"
#include "tests/collective/hosts.h"

namespace stretto::collective {
namespace {

using testing::HasSubstr;

constexpr std::uint64_t kBytes = 336'000'000;  // 33,600 parts.
constexpr std::uint64_t kPartBytes = 10'000;

Places first_places(Place count) {
  Places places(count);
  std::iota(places.begin(), places.end(), Place{0});
  return places;
}

/// Link time of a round, in units of the time that all bytes take at rate 1.
double in_units(const Network& network, const Strategy& strategy) {
  const Prediction made = CostModel::of(network)->predict(strategy, kBytes, kPartBytes);
  return made.link_seconds / static_cast<double>(kBytes);
}

/// Times in units of n / b: the table for one host with a slower link.
TEST(CostModel, MatchesTableOfPrimitives) {
  struct Row {
    Place members;
    double slowest, direct, ring, server;
  };
  const Row rows[] = {
      {4, 1, 1.5, 1.5, 4},   {4, 0.8, 1.58, 1.88, 4}, {4, 0.5, 2, 3, 4},   {4, 0.25, 4, 6, 4},
      {8, 1, 1.75, 1.75, 8}, {8, 0.8, 1.80, 2.19, 8}, {8, 0.5, 2, 3.5, 8}, {8, 0.25, 4, 7, 8},
  };
  for (const Row& row : rows) {
    std::vector<double> rates(row.members, 1);
    rates[1] = row.slowest;
    std::vector<MemberRate> paces;
    for (const double rate : rates) paces.push_back({.rate = rate, .late = 0});
    const Strategy weighted = *direct(first_places(row.members), shares_of(1, paces));
    const Network network = hosts_of(rates);
    EXPECT_NEAR(in_units(network, weighted), row.direct, 0.006) << row.members << row.slowest;
    EXPECT_NEAR(in_units(network, weighted), least_seconds(1, paces), 0.002);
    EXPECT_NEAR(in_units(network, *ring(first_places(row.members))), row.ring, 0.006);
    EXPECT_NEAR(in_units(network, *direct(first_places(row.members))), row.ring, 0.006)
        << "equal parts";
    rates.push_back(1);
    const Strategy server = *one_server(first_places(row.members), row.members);
    const double dedicated = in_units(hosts_of(rates), server);
    EXPECT_NEAR(dedicated, row.server, 0.005);
  }
}

TEST(CostModel, BetweenRacksHierarchyWins) {
  struct Row {
    double uplink, direct, ring, hierarchical;
  };
  for (const Row& row : {Row{1, 4, 1.75, 1.75}, Row{0.25, 16, 7, 4}}) {
    Network network = hosts_of(std::vector<double>(8, 1));
    const std::vector<Places> racks = {{0, 1, 2, 3}, {4, 5, 6, 7}};
    for (const Places& rack : racks) {
      network.boundaries.push_back({.name = "rack", .inside = rack, .rate = row.uplink});
    }
    EXPECT_NEAR(in_units(network, *direct(first_places(8))), row.direct, 0.002);
    EXPECT_NEAR(in_units(network, *ring(first_places(8))), row.ring, 0.002);
    EXPECT_NEAR(in_units(network, *hierarchical(racks, *direct({0, 1}))), row.hierarchical, 0.002);
  }
}

TEST(CostModel, WorkersOfAHostSendOneSum) {
  const std::vector<Places> hosts = {{0, 1, 2, 3}, {4, 5, 6, 7}};
  Network network;
  for (const Places& host : hosts) {
    network.boundaries.push_back({.name = "host", .inside = host, .rate = 1});
  }
  EXPECT_NEAR(in_units(network, *hierarchical(hosts, *direct({0, 1}))), 1, 0.002);
  EXPECT_NEAR(in_units(network, *ring(first_places(8))), 1.75, 0.002);
  EXPECT_NEAR(in_units(network, *direct(first_places(8))), 4, 0.002);
}

TEST(CostModel, PredictionNamesTimeComponents) {
  Network network = hosts_of({100, 100, 50});
  network.start_seconds = 1;
  network.frame_seconds = 2;
  network.byte_seconds = 0.25;
  network.processors = 2;
  // Three parts of 100 bytes, one ring each: every member sends and receives 4 frames.
  const Prediction made = CostModel::of(network)->predict(*ring({0, 1, 2}), 300, 100);
  EXPECT_DOUBLE_EQ(made.link_seconds, 400.0 / 50);
  EXPECT_EQ(made.link, "host 2");
  EXPECT_DOUBLE_EQ(made.processor_seconds, (8 * 2 + 800 * 0.25) / 2);
  EXPECT_EQ(made.busiest, 0U);
  EXPECT_EQ(made.hops, 4U);
  // Each hop: 13.5 s to send, 1 + 2 s in transit, 13.5 s to receive.
  EXPECT_DOUBLE_EQ(made.path_seconds, 4 * (13.5 + 3 + 13.5));
  EXPECT_DOUBLE_EQ(made.seconds, made.path_seconds) << "there is one part of each tree";
  EXPECT_EQ(made.describe(),
            "120000.000 ms: link 8000.000 (host 2), processor 108000.000 (member 0), path "
            "120000.000 (4 hops)");
  const Prediction twice = CostModel::of(network)->predict(*ring({0, 1, 2}), 600, 100);
  EXPECT_DOUBLE_EQ(twice.seconds, 120 + 108) << "what the others take comes on top";
}

/// A ring of P trees keeps all links busy, and so does `direct`: path latency adds no time.
TEST(CostModel, ManyPartsCostOnlyLinkTime) {
  const Network network = hosts_of({1, 1, 1, 1});
  for (const Strategy& each : {*ring(first_places(4)), *direct(first_places(4))}) {
    const Prediction made = CostModel::of(network)->predict(each, kBytes, kPartBytes);
    EXPECT_NEAR(made.seconds / static_cast<double>(kBytes), 1.5, 0.001);
  }
}

/// The owner's link receives the contributions to the only part one after another.
TEST(CostModel, OfOnePartATreeIsFasterThanAStar) {
  const CostModel model = *CostModel::of(hosts_of(std::vector<double>(8, 1)));
  EXPECT_DOUBLE_EQ(model.predict(*direct(first_places(8)), 10, 10).seconds, 2 * 7 * 10);
  EXPECT_DOUBLE_EQ(model.predict(*halving_doubling(first_places(8)), 10, 10).seconds, 2 * 3 * 10);
}

TEST(CostModel, CountsExactBytesAndFramesPerMember) {
  const std::vector<Carried> carried = carried_in(*direct({0, 2}), {100, 100, 7});
  ASSERT_EQ(carried.size(), 3U);
  EXPECT_EQ(carried[0], (Carried{.bytes = 207, .frames = 3}));
  EXPECT_EQ(carried[1], Carried());
  EXPECT_EQ(carried[2], carried[0]);
}

TEST(CostModel, RejectsInvalidNetwork) {
  EXPECT_THAT(CostModel::of(hosts_of({1, 0})).status().text(),
              HasSubstr("host 1 has a rate of 0 bytes/s"));
  EXPECT_THAT(CostModel::of({.boundaries = {}, .start_seconds = -1}).status().text(),
              HasSubstr("costs of a network are below 0"));
}

}  // namespace
}  // namespace stretto::collective

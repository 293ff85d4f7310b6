// SPDX-License-Identifier: Apache-2.0
// Orders from a graph: small ones by hand, random ones against all possible orders.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "stretto/order.h"
#include "tests/common/effort.h"

namespace stretto {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Ranks = std::vector<std::uint32_t>;

Ranks must(const Result<Ranks>& ranks) {
  EXPECT_TRUE(ranks.ok()) << ranks.status().text();
  return ranks.ok() ? *ranks : Ranks();
}

ModelGraph with_transfers(std::size_t count) {
  ModelGraph graph;
  for (std::size_t i = 0; i < count; ++i) {
    graph.transfers.push_back({.name = "r" + std::to_string(i), .time = Duration(1)});
  }
  return graph;
}

/// A chain: each computation needs the one before it and a transfer of its own.
ModelGraph chain(std::uint32_t count) {
  ModelGraph graph = with_transfers(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    graph.nodes.push_back({"c" + std::to_string(i), {}, {i}, Duration(1)});
    if (i > 0) graph.nodes.back().inputs.push_back(i - 1);
  }
  return graph;
}

/// Computations that need only a transfer each, and a last one that needs all of them.
ModelGraph parallel(std::uint32_t count) {
  ModelGraph graph = with_transfers(count);
  ModelGraph::Node join{"join", {}, {}, Duration(0)};
  for (std::uint32_t i = 0; i < count; ++i) {
    graph.nodes.push_back({"c" + std::to_string(i), {}, {i}, Duration(1)});
    join.inputs.push_back(i);
  }
  graph.nodes.push_back(join);
  return graph;
}

/// The time until all is computed: one transfer at a time by rank, and one computation at a time,
/// the first ready one first.
Duration makespan(const ModelGraph& graph, const Ranks& ranks) {
  std::vector<std::uint32_t> order(ranks.size());
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return ranks[a] < ranks[b]; });
  std::vector<Duration> arrived(ranks.size());
  Duration link{};
  for (const std::uint32_t i : order) arrived[i] = link += *graph.transfers[i].time;
  const std::size_t count = graph.nodes.size();
  std::vector<Duration> ended(count, Duration::max());
  Duration processor{};
  for (std::size_t done = 0; done < count; ++done) {
    std::size_t next = count;
    Duration earliest = Duration::max();
    for (std::size_t i = 0; i < count; ++i) {
      if (ended[i] != Duration::max()) continue;
      Duration ready{};
      for (const auto transfer : graph.nodes[i].transfers) {
        ready = std::max(ready, arrived[transfer]);
      }
      for (const auto input : graph.nodes[i].inputs) ready = std::max(ready, ended[input]);
      if (ready < earliest) {
        earliest = ready;
        next = i;
      }
    }
    processor = std::max(processor, earliest) + *graph.nodes[next].time;
    ended[next] = processor;
  }
  return processor;
}

// ---- TIC

TEST(Tic, OnAChainFollowsTheChain) {
  EXPECT_THAT(must(tic_ranks(chain(5))), ElementsAre(0, 0, 2, 3, 4));
}

TEST(Tic, IsIndifferentWhereAllJoin) {
  EXPECT_THAT(must(tic_ranks(parallel(6))), ElementsAre(0, 0, 0, 0, 0, 0));
}

TEST(Tic, OneTransferIsFirst) { EXPECT_THAT(must(tic_ranks(chain(1))), ElementsAre(0)); }

TEST(Tic, TransferNeededAloneRanksLast) {
  ModelGraph graph = chain(3);
  graph.transfers.push_back({.name = "alone", .time = {}});
  graph.nodes.push_back({"aside", {}, {3}, Duration(1)});
  EXPECT_THAT(must(tic_ranks(graph)), ElementsAre(0, 0, 2, 3));
}

// A diamond: r0 feeds both sides, r1 and r2 one side each, r3 the end.
TEST(Tic, OnADiamondTheSidesAreEqual) {
  ModelGraph graph = with_transfers(4);
  graph.nodes = {{"top", {}, {0}, {}},
                 {"left", {0}, {1}, {}},
                 {"right", {0}, {2}, {}},
                 {"end", {1, 2}, {3}, {}}};
  EXPECT_THAT(must(tic_ranks(graph)), ElementsAre(0, 0, 0, 3));
}

// Two towers that join, of two and of three transfers: the shorter one is complete first.
TEST(Tic, OfTwoTowersTheRootsComeFirst) {
  ModelGraph graph = with_transfers(6);
  graph.nodes = {{"a0", {}, {0}, {}},  {"a1", {0}, {1}, {}}, {"b0", {}, {2}, {}},
                 {"b1", {2}, {3}, {}}, {"b2", {3}, {4}, {}}, {"end", {1, 4}, {5}, {}}};
  EXPECT_THAT(must(tic_ranks(graph)), ElementsAre(0, 0, 0, 0, 4, 5));
}

// ---- TAC

TEST(Tac, OnAChainFollowsTheChain) {
  EXPECT_THAT(must(tac_ranks(chain(5))), ElementsAre(0, 1, 2, 3, 4));
}

TEST(Tac, WithoutTimesEveryThingTakesAMillisecond) {
  ModelGraph graph = parallel(2);
  for (auto& transfer : graph.transfers) transfer.time.reset();
  graph.nodes[0].time = 1us;
  graph.nodes[1].time.reset();
  EXPECT_THAT(must(tac_ranks(graph)), ElementsAre(1, 0));
}

// A flow shop of two machines, link and processor: Johnson's order is optimal.
TEST(Tac, WhereAllJoinIsAsGoodAsTheBestOfAllOrders) {
  std::mt19937 random(20190331);
  for (int trial = 0; trial < repeated(400); ++trial) {
    const auto count = static_cast<std::uint32_t>(2 + trial % 6);
    const unsigned most = trial % 2 == 0 ? 5 : 1000;  // Small numbers make many ties.
    ModelGraph graph = parallel(count);
    for (std::uint32_t i = 0; i < count; ++i) {
      graph.transfers[i].time = Duration(1 + random() % most);
      graph.nodes[i].time = Duration(1 + random() % most);
    }
    Ranks ranks(count);
    std::iota(ranks.begin(), ranks.end(), 0U);
    Duration best = Duration::max();
    do {
      best = std::min(best, makespan(graph, ranks));
    } while (std::next_permutation(ranks.begin(), ranks.end()));
    EXPECT_EQ(makespan(graph, must(tac_ranks(graph))), best) << "trial " << trial;
  }
}

TEST(Tac, BeatsTicWhereBranchesDiffer) {
  ModelGraph graph = parallel(4);  // TIC ranks them equally.
  const std::vector<Duration> transfers{40ns, 1ns, 30ns, 2ns};
  const std::vector<Duration> computations{1ns, 40ns, 2ns, 30ns};
  for (std::size_t i = 0; i < 4; ++i) {
    graph.transfers[i].time = transfers[i];
    graph.nodes[i].time = computations[i];
  }
  const Ranks tac = must(tac_ranks(graph));
  EXPECT_THAT(tac, ElementsAre(3, 0, 2, 1));
  EXPECT_EQ(makespan(graph, tac), 74ns);
  EXPECT_EQ(makespan(graph, must(tic_ranks(graph))), 113ns);
}

// ---- graphs and orders

TEST(LayerRanks, AreThoseOfTheFirstUse) {
  ModelGraph graph = with_transfers(4);
  graph.nodes = {{"a", {}, {2}, {}}, {"b", {0}, {}, {}}, {"c", {1}, {0, 2, 3}, {}}};
  EXPECT_THAT(must(layer_ranks(graph)), ElementsAre(2, 3, 0, 2));
}

TEST(ModelGraph, InvalidGraphsAreExplained) {
  ModelGraph graph = chain(2);
  graph.nodes[0].inputs = {1};
  for (const auto& ranks : {layer_ranks(graph), tic_ranks(graph), tac_ranks(graph)}) {
    EXPECT_EQ(ranks.status().code(), Code::kInvalidArgument);
    EXPECT_THAT(ranks.status().cause(), HasSubstr("node 0 ('c0') comes after node 1"));
  }
  graph = chain(2);
  graph.nodes[1].transfers = {2};
  EXPECT_THAT(tic_order(graph).status().cause(),
              HasSubstr("node 1 ('c1') needs transfer 2, the graph has 2"));
  graph = chain(2);
  graph.transfers[1].name = "r0";
  EXPECT_THAT(tac_order(graph).status().cause(), HasSubstr("two transfers of the name 'r0'"));
}

TEST(ModelGraph, AnEmptyOneHasNoOrder) {
  EXPECT_TRUE(must(tic_ranks({})).empty());
  EXPECT_TRUE(must(tac_ranks({})).empty());
}

TEST(ModelGraph, BytesAndARateAreTimes) {
  ModelGraph graph;
  graph.transfers = {{"a", 1000, {}}, {"b", 0, {}}};
  time_transfers(graph, 1e6);
  EXPECT_EQ(graph.transfers[0].time, 1ms);
  EXPECT_EQ(graph.transfers[1].time, 0ms);
}

TEST(ModelGraph, OrdersAreNamedAndLookUpTensorsByName) {
  const std::vector<std::string> names{"r1", "r2", "r0"};
  const auto tic = tic_order(chain(3));
  ASSERT_TRUE(tic.ok());
  EXPECT_EQ((*tic)->name(), "tic");
  EXPECT_THAT(*(*tic)->priorities(names), ElementsAre(0, -2, 0));
  EXPECT_EQ((*tac_order(chain(3)))->name(), "tac");
  EXPECT_THAT(*(*tac_order(chain(3)))->priorities(names), ElementsAre(-1, -2, 0));
  EXPECT_EQ((*layer_order(chain(3)))->name(), "layer");
  EXPECT_THAT(*(*layer_order(chain(3)))->priorities(names), ElementsAre(-1, -2, 0));
}

}  // namespace
}  // namespace stretto

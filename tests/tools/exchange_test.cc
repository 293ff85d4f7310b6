// SPDX-License-Identifier: Apache-2.0
// What `stretto-bench push_pull` may be asked about ways of exchanging, and what links let pass.
#include <gtest/gtest.h>

#include <cmath>

#include "tools/bench/exchange_limit.h"
#include "tools/bench/settings.h"

namespace stretto::bench {
namespace {

Result<Settings> exchange_settings(const std::vector<std::string>& words,
                                   Benchmark benchmark = Benchmark::kPushPull) {
  return read_settings(benchmark, words);
}

TEST(ExchangeFlags, ServersUnlessSaid) {
  EXPECT_EQ(exchange_settings({}).or_exit().exchange, Exchange::kServers);
  EXPECT_EQ(exchange_settings({"--exchange=halving"}).or_exit().exchange, Exchange::kHalving);
  EXPECT_TRUE(exchange_settings({"--exchange", "servers"}, Benchmark::kPush).ok());
}

TEST(ExchangeFlags, WhatCannotBeUsedIsNamed) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases{
      {{"--exchange", "star"},
       "--exchange is 'star', exchange 'star' is not known; there are servers, direct, ring, "
       "halving, tree, hierarchical, auto"},
      {{"--lab_mbit", "0"}, "--lab_mbit is '0', wanted a whole number from 1 to 100000"},
      {{"--lab_mbit", "1,2,3,4,5"},
       "--lab_mbit: wanted at most a rate for each worker and server, 4 in all, found 5"},
      {{"--lab_mbit", "10", "--shards", "2"},
       "--lab_mbit gives each worker and server a host: wanted at most 64 of them, with one shard "
       "each, found 4 with 2"},
      {{"--lab_mbit", "10", "--workers", "63"},
       "--lab_mbit gives each worker and server a host: wanted at most 64 of them, with one shard "
       "each, found 65 with 1"},
      {{"--lab_mbit", "10", "--transport", "shm"},
       "--lab_mbit: wanted --transport zmq, since nothing else goes over its links, found shm"}};
  for (const auto& [words, cause] : cases) {
    const Result<Settings> settings = exchange_settings(words);
    ASSERT_FALSE(settings.ok()) << cause;
    EXPECT_EQ(settings.status().code(), Code::kInvalidArgument);
    EXPECT_EQ(settings.status().cause(), cause);
  }
}

TEST(ExchangeFlags, WorkersAmongThemselvesHavePushPullAlone) {
  for (const Benchmark benchmark : {Benchmark::kPush, Benchmark::kPull}) {
    const Result<Settings> settings = exchange_settings({"--exchange", "ring"}, benchmark);
    ASSERT_FALSE(settings.ok());
    EXPECT_NE(settings.status().cause().find("wanted servers"), std::string::npos);
    EXPECT_NE(settings.status().cause().find(name_of(benchmark)), std::string::npos);
  }
}

TEST(ExchangeBound, ServersCarryAllWorkersAndWorkersTheirProportion) {
  const auto bound = [](Exchange exchange, std::size_t workers, std::size_t servers) {
    return link_bound(exchange, std::vector<std::uint64_t>(workers, 10),
                      std::vector<std::uint64_t>(servers, 10));
  };
  EXPECT_EQ(bound(Exchange::kServers, 4, 4), 10);
  EXPECT_EQ(bound(Exchange::kServers, 4, 8), 10);
  EXPECT_EQ(bound(Exchange::kServers, 4, 1), 2.5);
  EXPECT_EQ(bound(Exchange::kRing, 2, 1), 10);
  EXPECT_DOUBLE_EQ(bound(Exchange::kDirect, 4, 4), 10 / 1.5);
  EXPECT_DOUBLE_EQ(bound(Exchange::kAuto, 4, 4), 10 / 1.5);
  EXPECT_EQ(bound(Exchange::kAuto, 2, 1), 10);
  EXPECT_TRUE(std::isnan(bound(Exchange::kRing, 1, 1)));
}

TEST(ExchangeBound, ASlowHostNeedCarryNoMoreThanItsOwn) {
  const std::vector<std::uint64_t> workers{1000, 1000, 1000, 250};
  const std::vector<std::uint64_t> servers{1000, 500};
  EXPECT_DOUBLE_EQ(link_bound(Exchange::kRing, workers, servers), 250 / 1.5);
  EXPECT_EQ(link_bound(Exchange::kAuto, workers, servers), 250);
  EXPECT_EQ(link_bound(Exchange::kServers, workers, servers), 250);
  EXPECT_EQ(link_bound(Exchange::kServers, std::span(workers).first(3), servers), 1000.0 / 3);
  EXPECT_EQ(link_bound(Exchange::kAuto, std::vector<std::uint64_t>{900, 900, 600}, servers), 600);
}

TEST(ExchangeFlags, TheLastRateIsThatOfAllThatFollow) {
  const Settings settings =
      exchange_settings({"--lab_mbit", "10,20", "--workers", "3", "--servers", "1"}).or_exit();
  EXPECT_EQ(rates_mbit(settings), (std::vector<std::uint64_t>{10, 20, 20, 20}));
}

TEST(ExchangeBound, EachWayHasItsLimit) {
  const auto limit_with = [](const std::vector<std::string>& words) {
    return std::string(limit_name(exchange_settings(words).or_exit()));
  };
  EXPECT_EQ(limit_with({"--transport", "shm"}), "shm_copies");
  EXPECT_EQ(limit_with({"--transport", "zmq"}), "raw_zmq");
  EXPECT_EQ(limit_with({"--transport", "shm", "--exchange", "ring"}), "none");
  EXPECT_EQ(limit_with({"--lab_mbit", "10", "--exchange", "ring"}), "links");
  EXPECT_EQ(limit_with({"--lab_mbit", "10"}), "links");
}

}  // namespace
}  // namespace stretto::bench

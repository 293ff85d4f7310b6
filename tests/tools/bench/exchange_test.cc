// SPDX-License-Identifier: Apache-2.0
// The flags of `stretto-bench push_pull` for exchange strategies, and the bounds of links.
#include <gtest/gtest.h>

#include <cmath>

#include "tools/bench/limits/exchange_limit.h"
#include "tools/bench/settings/lab_hosts.h"
#include "tools/bench/settings/settings.h"

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

TEST(ExchangeFlags, NamesInvalidFlagOrValue) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases{
      {{"--exchange", "star"},
       "--exchange is 'star', exchange 'star' is not known; there are servers, direct, ring, "
       "halving, tree, hierarchical, auto"},
      {{"--lab_mbit", "0"}, "--lab_mbit is '0', wanted a whole number from 1 to 100000"},
      {{"--lab_mbit", "1,2,3,4,5"},
       "--lab_mbit: wanted at most a rate for each host, 4 in all, found 5"},
      {{"--lab_hosts", "2"}, "--lab_hosts: wanted --lab_mbit too, which makes the hosts"},
      {{"--lab_mbit", "10", "--lab_hosts", "5"},
       "--lab_hosts: wanted at most as many as workers and servers, 4 in all, found 5"},
      {{"--lab_mbit", "10", "--shards", "2"},
       "--lab_mbit gives each worker and server a host, or --lab_hosts: wanted at most 64 of them, "
       "with one shard for each server, found 4 with 2"},
      {{"--lab_mbit", "10", "--workers", "63"},
       "--lab_mbit gives each worker and server a host, or --lab_hosts: wanted at most 64 of them, "
       "with one shard for each server, found 65 with 1"},
      {{"--lab_mbit", "10", "--transport", "shm"},
       "--lab_mbit: wanted --transport tcp, zmq, or auto with --lab_hosts, since nothing else goes "
       "over "
       "its links, found shm"},
      {{"--lab_mbit", "10", "--transport", "auto"},
       "--lab_mbit: wanted --transport tcp, zmq, or auto with --lab_hosts, since nothing else goes "
       "over "
       "its links, found auto"}};
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

// The bound for these numbers of workers and servers, at hosts with links of these rates.
double bound(Exchange exchange, std::uint32_t workers, std::uint32_t servers,
             const std::string& rates, std::uint32_t hosts = 0) {
  std::vector<std::string> words{"--workers",  std::to_string(workers),
                                 "--servers",  std::to_string(servers),
                                 "--lab_mbit", rates};
  if (hosts != 0) words.insert(words.end(), {"--lab_hosts", std::to_string(hosts)});
  return link_bound(exchange, lab_hosts(exchange_settings(words).or_exit()));
}

TEST(ExchangeBound, ServersLimitByTotalAndWorkersByShare) {
  EXPECT_EQ(bound(Exchange::kServers, 4, 4, "10"), 10);
  EXPECT_EQ(bound(Exchange::kServers, 4, 8, "10"), 10);
  EXPECT_EQ(bound(Exchange::kServers, 4, 1, "10"), 2.5);
  EXPECT_EQ(bound(Exchange::kRing, 2, 1, "10"), 10);
  EXPECT_DOUBLE_EQ(bound(Exchange::kDirect, 4, 4, "10"), 10 / 1.5);
  EXPECT_DOUBLE_EQ(bound(Exchange::kAuto, 4, 4, "10"), 10 / 1.5);
  EXPECT_EQ(bound(Exchange::kAuto, 2, 1, "10"), 10);
  EXPECT_TRUE(std::isnan(bound(Exchange::kRing, 1, 1, "10")));
}

TEST(ExchangeBound, ASlowHostNeedCarryNoMoreThanItsOwn) {
  const std::string rates = "1000,1000,1000,250,1000,500";  // Four workers and two servers.
  EXPECT_DOUBLE_EQ(bound(Exchange::kRing, 4, 2, rates), 250 / 1.5);
  EXPECT_EQ(bound(Exchange::kAuto, 4, 2, rates), 250);
  EXPECT_EQ(bound(Exchange::kServers, 4, 2, rates), 250);
  EXPECT_EQ(bound(Exchange::kServers, 3, 2, "1000,1000,1000,1000,500"), 1000.0 / 3);
  EXPECT_EQ(bound(Exchange::kAuto, 3, 1, "900,900,600,1"), 600);
  EXPECT_EQ(bound(Exchange::kAuto, 3, 1, "300,300,400,1"), 250) << "all send 4 n together";
}

TEST(ExchangeBound, WorkersOfAHostShareItsLink) {
  EXPECT_EQ(bound(Exchange::kServers, 8, 2, "10", 2), 2.5) << "4 shares and 4 values of half each";
  EXPECT_EQ(bound(Exchange::kHierarchical, 8, 2, "10", 2), 10);
  EXPECT_TRUE(std::isnan(bound(Exchange::kHierarchical, 8, 2, "10", 1)));
  EXPECT_TRUE(std::isnan(bound(Exchange::kServers, 8, 2, "10", 1)));
}

TEST(ExchangeFlags, WorkersAreDealtToHostsInRunsAndServersInTurn) {
  const Settings settings = exchange_settings({"--lab_mbit", "10,20", "--workers", "5", "--servers",
                                               "3", "--lab_hosts", "2"})
                                .or_exit();
  const std::vector<LabHost> hosts = lab_hosts(settings);
  ASSERT_EQ(hosts.size(), 2U);
  EXPECT_EQ((std::vector{hosts[0].workers, hosts[1].workers}), (std::vector{3U, 2U}));
  EXPECT_EQ((std::vector{hosts[0].servers, hosts[1].servers}), (std::vector{2U, 1U}));
  EXPECT_EQ((std::vector{hosts[0].rate_mbit, hosts[1].rate_mbit}),
            (std::vector<std::uint64_t>{10, 20}));
}

TEST(ExchangeFlags, ProcessesOfALabsHostMeetAsTheyAreTold) {
  const auto transport_with = [](std::vector<std::string> words) {
    words.insert(words.end(), {"--lab_mbit", "10"});
    return transport_of(exchange_settings(words).or_exit());
  };
  EXPECT_EQ(transport_with({}), "tcp");
  EXPECT_EQ(transport_with({"--lab_hosts", "2"}), "auto");
  EXPECT_EQ(transport_with({"--lab_hosts", "2", "--transport", "auto"}), "auto");
  EXPECT_EQ(transport_with({"--lab_hosts", "2", "--transport", "tcp"}), "tcp");
}

TEST(ExchangeBound, EachWayHasItsLimit) {
  const auto limit_with = [](const std::vector<std::string>& words) {
    return std::string(limit_name(exchange_settings(words).or_exit()));
  };
  EXPECT_EQ(limit_with({"--transport", "shm"}), "shm_copies");
  EXPECT_EQ(limit_with({"--transport", "tcp"}), "raw_zmq");
  EXPECT_EQ(limit_with({"--transport", "shm", "--exchange", "ring"}), "none");
  EXPECT_EQ(limit_with({"--lab_mbit", "10", "--exchange", "ring"}), "links");
  EXPECT_EQ(limit_with({"--lab_mbit", "10"}), "links");
}

}  // namespace
}  // namespace stretto::bench

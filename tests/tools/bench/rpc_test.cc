// SPDX-License-Identifier: Apache-2.0
// The flags of `stretto-bench rpc`, and how calls are counted. The clock is the machine's, so the
// tests check counts of calls, not times.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "tools/bench/rpc/calls.h"
#include "tools/bench/settings/settings.h"

namespace stretto::bench {
namespace {

using testing::ElementsAre;
using testing::Pair;

Result<Settings> rpc_settings(const std::vector<std::string>& words) {
  return read_settings(Benchmark::kRpc, words);
}

std::vector<std::pair<std::uint64_t, std::uint32_t>> pairs_of(const Settings& settings) {
  std::vector<std::pair<std::uint64_t, std::uint32_t>> pairs;
  for (const CallShape& shape : shapes_of(settings.rpc, settings.seconds)) {
    EXPECT_EQ(shape.seconds, settings.seconds);
    pairs.emplace_back(shape.bytes, shape.inflight);
  }
  return pairs;
}

TEST(RpcFlags, OneCallAndManyOfEachSizeUnlessSaid) {
  EXPECT_THAT(
      pairs_of(rpc_settings({"--bytes", "64,64K,1M,16M"}).or_exit()),
      ElementsAre(Pair(64, 1), Pair(64, 64), Pair(65536, 1), Pair(65536, 64), Pair(1 << 20, 1),
                  Pair(1 << 20, 4), Pair(16 << 20, 1), Pair(16 << 20, 4)));
  EXPECT_EQ(pairs_of(rpc_settings({}).or_exit()).size(), 8U);
  EXPECT_THAT(
      pairs_of(rpc_settings({"--bytes", "1,2K", "--inflight=3,5", "--seconds", "2"}).or_exit()),
      ElementsAre(Pair(1, 3), Pair(1, 5), Pair(2048, 3), Pair(2048, 5)));
}

TEST(RpcFlags, TransportsThatAreNamedMustWork) {
  EXPECT_TRUE(rpc_settings({}).or_exit().rpc.all_transports);
  const Settings named = rpc_settings({"--transport", "tcp,shm"}).or_exit();
  EXPECT_FALSE(named.rpc.all_transports);
  EXPECT_THAT(named.rpc.transports, ElementsAre("tcp", "shm"));
}

TEST(RpcFlags, NamesInvalidFlagOrValue) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases{
      {{"--bytes", "0"}, "--bytes is '0', wanted a whole number from 1 to 67108864"},
      {{"--bytes", "65M"}, "--bytes is '65M', wanted a whole number from 1 to 67108864"},
      {{"--inflight", "1025"}, "--inflight is '1025', wanted a whole number from 1 to 1024"},
      {{"--transport", "auto"},
       "--transport is 'auto', wanted shm, tcp, zmq or fabric, or several with commas between"},
      {{"--bytes", "64M", "--inflight", "9"},
       "--bytes 67108864 with 9 calls in flight is 603979776 bytes, at most 536870912 are taken; "
       "--inflight sets that"}};
  for (const auto& [words, cause] : cases) {
    const Result<Settings> settings = rpc_settings(words);
    ASSERT_FALSE(settings.ok()) << cause;
    EXPECT_EQ(settings.status().cause(), cause);
  }
}

TEST(Calls, AsManyAreInFlightAsWasAskedAndNoneIsLeft) {
  const CallShape shape{.bytes = 1000, .inflight = 3, .seconds = 1e-4};
  std::vector<std::size_t> begun;
  std::vector<std::size_t> finished;
  std::size_t most = 0;
  const Result<Report> report = keep_calling(
      shape, ::getpid(),
      [&](std::size_t slot) {
        begun.push_back(slot);
        most = std::max(most, begun.size() - finished.size());
        return Status();
      },
      [&](std::size_t slot) {
        finished.push_back(slot);
        return Status();
      });
  ASSERT_TRUE(report.ok()) << report.status().text();
  EXPECT_EQ(most, 3U);
  EXPECT_EQ(begun, finished);  // It waits for the oldest calls.
  EXPECT_GE(report->seconds, shape.seconds);
  EXPECT_GE(report->answers, 1);
  EXPECT_LT(report->answers, static_cast<double>(finished.size()));  // Without the warm-up.
  EXPECT_DOUBLE_EQ(report->gigabytes, report->answers * 1e-6);
  EXPECT_GT(report->p50_us, 0);
  EXPECT_GE(report->p95_us, report->p50_us);
}

TEST(Calls, FailureEndsCalls) {
  const CallShape shape{.bytes = 1, .inflight = 2, .seconds = 60};
  const Status broken(Code::kNetwork, "no more");
  const auto fine = [](std::size_t) { return Status(); };
  const auto fails = [&](std::size_t) { return broken; };
  EXPECT_EQ(keep_calling(shape, ::getpid(), fails, fine).status().cause(), "no more");
  EXPECT_EQ(keep_calling(shape, ::getpid(), fine, fails).status().cause(), "no more");
}

TEST(Calls, StartFailsWhenAnswererReportsNoAddress) {
  const auto answerer = Answerer::start(
      [](const TellAddress&) { return Status(Code::kNetwork, "cannot listen, as expected"); });
  ASSERT_FALSE(answerer.ok());
  EXPECT_EQ(answerer.status().code(), Code::kPeerLost);
}

}  // namespace
}  // namespace stretto::bench

// SPDX-License-Identifier: Apache-2.0
// Balancing end to end, in virtual time: a real scheduler, shard and four workers over a simulated
// network, whose readers share one modelled device. Heartbeats reveal starved workers; their
// replies carry the limits of the other workers.
#include <gtest/gtest.h>

#include <array>

#include "common/log.h"
#include "experiments/io/io_device.h"
#include "input/tuning/controls.h"
#include "scheduler/scheduler.h"
#include "server/shard.h"
#include "tests/common/effort.h"
#include "tests/sim/sim_network.h"
#include "worker/node.h"

namespace stretto {
namespace {

constexpr std::uint32_t kReadBytes = 256 * 1024;
constexpr double kDemand = 500e6;  // Of each worker; the device delivers 1.5 GB/s.
constexpr Duration kTurn = 100ms;  // Simulation step of the device.

/// A worker, and its reader as storage sees it.
struct Party {
  Config config;
  InputAccount account;
  std::unique_ptr<WorkerNode> node;
  std::shared_ptr<InputFeed> feed;
  input::Knobs wanted{32, kReadBytes};
  double demand_bytes_per_s = kDemand;
  double limit_bytes_per_s = bench::experiments::IoClient::kUnlimited;  // Of its own device.
  bool joined = false;
};

class InputBalanceTest : public testing::TestWithParam<std::uint64_t> {
 protected:
  explicit InputBalanceTest(bool balances = true) {
    set_log_level(Level::kError);
    scheduler_config_ = config(Role::kScheduler, -1);
    scheduler_config_.balance_input = balances;
    scheduler_ =
        std::make_unique<Scheduler>(scheduler_config_, network_.endpoint("scheduler"), clock_);
    EXPECT_TRUE(scheduler_->listen(scheduler_config_.scheduler).ok());
    shard_ = std::make_unique<Shard>(server_config_, 0, network_.endpoint("server 0"), clock_);
    EXPECT_TRUE(shard_->start("server-0:0", "").ok());
    agents_ = {{"scheduler", scheduler_.get()}, {"server 0", shard_.get()}};
    for (std::size_t i = 0; i < parties_.size(); ++i) add_worker(i);
    run_until(clock_.now() + 100ms);
    for (const Party& party : parties_) EXPECT_TRUE(party.joined);
  }
  ~InputBalanceTest() override { set_log_level(Level::kInfo); }

  /// Advances time: the device serves the readers, each within its limit.
  void pass(Duration time) {
    for (const Time end = clock_.now() + time; clock_.now() < end;) {
      for (std::size_t i = 0; i < parties_.size(); ++i) {
        Party& party = parties_[i];
        party.feed->wants(input::bytes_in_flight(party.wanted), kReadBytes);
        device_.set_client(i, {.knobs = limited(party.wanted, party.feed->limit_bytes(), 16384),
                               .demand_bytes_per_s = party.demand_bytes_per_s,
                               .limit_bytes_per_s = party.limit_bytes_per_s,
                               .burst_bytes = kReadBytes});
      }
      const auto seen = device_.run(kTurn);
      for (std::size_t i = 0; i < parties_.size(); ++i) count(*parties_[i].feed, seen[i]);
      run_until(clock_.now() + kTurn);
    }
  }
  /// Windows of a second until a worker is reported as starved; 0: none within `most` windows.
  std::uint64_t windows_until_an_alarm(std::uint64_t most) {
    for (std::uint64_t window = 1; window <= most; ++window) {
      pass(1s);
      if (scheduler_->watch().input().alarms() > 0) return window;
    }
    return 0;
  }
  double bytes_per_s() const {
    double sum = 0;
    for (const auto& [rank, view] : scheduler_->watch().input().workers()) sum += view.bytes_per_s;
    return sum;
  }
  /// After 20 to 60 s all rates are nearly equal, and their sum is about `rate_before`.
  void expect_balance(double rate_before) {
    pass(20s);
    double index = 0;
    double rate = 0;
    for (int window = 0; window < 40; ++window) {
      pass(1s);
      index += scheduler_->watch().input().index() / 40;
      rate += bytes_per_s() / 40;
    }
    EXPECT_GE(index, 0.95);
    EXPECT_GE(rate, 0.9 * rate_before) << "to hold back must not cost what the device can do";
    RecordProperty("rate", std::to_string(rate / rate_before));
    RecordProperty("index_after", std::to_string(index));
  }
  std::string word_of(Rank rank) const {
    const auto found = scheduler_->watch().input().workers().find(rank);
    return found == scheduler_->watch().input().workers().end() ? "not heard of"
                                                                : found->second.word;
  }

  Config config(Role role, std::int64_t rank) {
    Config config;
    config.role = role;
    config.rank = rank;
    config.workers = static_cast<std::uint32_t>(parties_.size());
    config.scheduler = "scheduler:9000";
    config.token = "secret";
    return config;
  }

  sim::VirtualClock clock_;
  sim::SimNetwork network_{clock_, GetParam(), {}};
  bench::experiments::IoDevice device_{*bench::experiments::find_device_model("noisy"), GetParam(),
                                       4};
  std::array<Party, 4> parties_;
  Config scheduler_config_;
  Config server_config_ = config(Role::kServer, 0);
  std::unique_ptr<Scheduler> scheduler_;
  std::unique_ptr<Shard> shard_;
  std::vector<std::pair<std::string, LoopTask*>> agents_;

 private:
  void add_worker(std::size_t i) {
    Party& party = parties_[i];
    const std::string name = "worker " + std::to_string(i);
    party.config = config(Role::kWorker, static_cast<std::int64_t>(i));
    party.node = std::make_unique<WorkerNode>(party.config, network_.endpoint(name), clock_);
    party.node->set_input(&party.account);
    party.node->join([&party](const Status& status) { party.joined = status.ok(); });
    party.feed = party.account.open(clock_.now());
    agents_.emplace_back(name, party.node.get());
  }

  // The consumer waits at the end of the step, not in the middle: that does not matter.
  void count(InputFeed& feed, const input::Window& window) const {
    feed.delivered(window.delivered_bytes);
    feed.waits(clock_.now());
    feed.goes_on(clock_.now() + window.consumer_stall);
    if (window.requests > 0) feed.requested(window.mean_latency);
  }

  void run_until(Time end) {
    while (clock_.now() < end) {
      bool any = false;
      Time next = end;
      for (const auto& [name, agent] : agents_) {
        if (agent->over()) continue;
        if (network_.has_arrived(name) || agent->next_due() <= clock_.now()) {
          agent->step(Duration::zero());
          any = true;
        }
        next = std::min({next, network_.next_arrival(name), agent->next_due()});
      }
      if (!any) clock_.advance_to(std::max(next, clock_.now() + 1ns));
    }
  }
};

TEST_P(InputBalanceTest, AStolenShareIsNamedAndGivenBack) {
  pass(3s);
  parties_[1].wanted.depth = 4;
  const std::uint64_t windows = windows_until_an_alarm(10);
  EXPECT_GE(windows, 3U);
  EXPECT_LE(windows, 4U) << "three whole windows, and the one in which it began";
  const double before = scheduler_->watch().input().index();
  const double rate_before = bytes_per_s();
  EXPECT_LT(before, 0.95);
  EXPECT_EQ(word_of(1), "stolen share");
  for (const Rank rank : {0U, 2U, 3U}) EXPECT_EQ(word_of(rank), "");
  expect_balance(rate_before);
  RecordProperty("windows", std::to_string(windows));
  RecordProperty("index_before", std::to_string(before));
  EXPECT_NE(parties_[0].feed->limit_bytes(), 0U);
}

// The middle worker is one of the starved workers.
TEST_P(InputBalanceTest, OneThatHoldsDownAllOthersIsHeldBack) {
  for (Party& party : parties_) {
    party.demand_bytes_per_s = bench::experiments::IoClient::kUnlimited;
    party.wanted.depth = 8;
  }
  pass(3s);
  EXPECT_EQ(scheduler_->watch().input().alarms(), 0U);
  parties_[3].wanted.depth = 128;
  const std::uint64_t windows = windows_until_an_alarm(10);
  EXPECT_GE(windows, 3U);
  EXPECT_LE(windows, 4U) << "as above";
  for (const Rank rank : {0U, 1U, 2U}) EXPECT_EQ(word_of(rank), "stolen share");
  EXPECT_EQ(word_of(3), "");
  const double rate_before = bytes_per_s();
  expect_balance(rate_before);
  for (const Rank rank : {0U, 1U, 2U}) EXPECT_EQ(parties_[rank].feed->limit_bytes(), 0U);
  EXPECT_NE(parties_[3].feed->limit_bytes(), 0U);
}

TEST_P(InputBalanceTest, NamesSlowDeviceWithoutLimits) {
  pass(3s);
  parties_[2].limit_bytes_per_s = 60e6;
  const std::uint64_t windows = windows_until_an_alarm(10);
  EXPECT_GE(windows, 3U);
  EXPECT_LE(windows, 4U) << "as above";
  RecordProperty("windows", std::to_string(windows));
  EXPECT_EQ(word_of(2), "slow device");
  pass(20s);
  EXPECT_EQ(scheduler_->watch().input().alarms(), 1U) << "it is said once";
  for (const Party& party : parties_) EXPECT_EQ(party.feed->limit_bytes(), 0U);
  parties_[2].limit_bytes_per_s = bench::experiments::IoClient::kUnlimited;
  pass(5s);
  EXPECT_EQ(word_of(2), "");
}

TEST_P(InputBalanceTest, JobEndLiftsInputLimits) {
  parties_[1].wanted.depth = 4;
  pass(10s);
  EXPECT_NE(parties_[0].feed->limit_bytes(), 0U);
  scheduler_->stop(Status(Code::kInterrupted, "enough"));
  pass(1s);
  EXPECT_EQ(parties_[0].feed->limit_bytes(), 0U);
}

INSTANTIATE_TEST_SUITE_P(Seeds, InputBalanceTest,
                         testing::Range<std::uint64_t>(1, 1 + repeated(10U)));

class InputFairTest : public InputBalanceTest {};

TEST_P(InputFairTest, AThousandWindowsRaiseNoAlarm) {
  EXPECT_EQ(windows_until_an_alarm(repeated(1000U)), 0U);
  EXPECT_GT(scheduler_->watch().input().index(), 0.98);
  for (Rank rank = 0; rank < 4; ++rank) EXPECT_EQ(word_of(rank), "");
  for (const Party& party : parties_) EXPECT_EQ(party.feed->limit_bytes(), 0U);
}

INSTANTIATE_TEST_SUITE_P(Seeds, InputFairTest, testing::Range<std::uint64_t>(1, 3));

class InputTellingTest : public InputBalanceTest {
 protected:
  InputTellingTest() : InputBalanceTest(false) {}
};

TEST_P(InputTellingTest, NamesStolenShareWithoutLimits) {
  parties_[1].wanted.depth = 4;
  pass(20s);
  EXPECT_EQ(word_of(1), "stolen share");
  EXPECT_EQ(scheduler_->watch().input().alarms(), 1U);
  for (const Party& party : parties_) EXPECT_EQ(party.feed->limit_bytes(), 0U);
}

INSTANTIATE_TEST_SUITE_P(Seeds, InputTellingTest, testing::Range<std::uint64_t>(1, 3));

}  // namespace
}  // namespace stretto

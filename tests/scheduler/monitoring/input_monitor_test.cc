// SPDX-License-Identifier: Apache-2.0
// Workers' reports about their input, valid and invalid: windows, log lines and limits.
#include "scheduler/monitoring/input_monitor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>

namespace stretto {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();

class InputMonitorTest : public testing::Test {
 protected:
  /// Each worker reads for a second and gets this share of 100 MB; 0: it neither reads nor waits.
  std::vector<InputMonitor::Word> window(const std::vector<double>& shares, int latency_ms = 10) {
    now_ += 1s;
    for (std::size_t i = 0; i < shares.size(); ++i) {
      InputTotals& all = workers_[static_cast<Rank>(i)];
      all.at = now_;
      if (shares[i] > 0) {
        all.delivered_bytes += static_cast<std::uint64_t>(1e8 * shares[i]);
        all.demanded_bytes += 100'000'000;
        all.stall += Duration(static_cast<std::int64_t>(1e9 * (1 - shares[i])));
        all.requests += 100;
        all.latency += 100ms * (i == 1 ? latency_ms : 10);
      }
      all.in_flight_bytes = 8 << 20;
      all.read_bytes = 1 << 18;
      watch_.heard(static_cast<Rank>(i), all);
    }
    return watch_.judge(now_);
  }
  /// Repeats the window until the monitor reports something.
  std::vector<InputMonitor::Word> windows_until_a_word(const std::vector<double>& shares) {
    for (int i = 0; i < 50; ++i) {
      if (auto words = window(shares); !words.empty()) return words;
    }
    return {};
  }

  InputMonitor watch_{1s, true};
  std::map<Rank, InputTotals> workers_;
  Time now_{1h};
};

TEST_F(InputMonitorTest, WithoutReadersThereIsNothing) {
  EXPECT_TRUE(watch_.due(now_));
  EXPECT_THAT(watch_.judge(now_), IsEmpty());
  EXPECT_FALSE(watch_.due(now_ + 999ms));
  EXPECT_TRUE(watch_.due(now_ + 1s));
  EXPECT_THAT(watch_.workers(), IsEmpty());
  EXPECT_EQ(watch_.index(), 1);
}

TEST_F(InputMonitorTest, ReportsStarvationAndItsEndOnce) {
  window({0.9, 0.9, 0.9, 0.9});
  EXPECT_THAT(window({0.9, 0.3, 0.9, 0.9}), IsEmpty());
  EXPECT_THAT(window({0.9, 0.3, 0.9, 0.9}), IsEmpty());
  const auto begin = window({0.9, 0.3, 0.9, 0.9});
  ASSERT_EQ(begin.size(), 1U);
  EXPECT_TRUE(begin[0].alarming);
  EXPECT_EQ(begin[0].text,
            "input: worker 1 gets 30 % of the data that it asks for, the middle one 90 %: stolen "
            "share; it waits 70 % of the time and reads 30.0 MB/s");
  EXPECT_THAT(window({0.9, 0.3, 0.9, 0.9}), IsEmpty()) << "once";
  EXPECT_EQ(watch_.workers().at(1).word, "stolen share");
  EXPECT_EQ(watch_.limit_of(0), 8U * (1 << 20) / 16 * 9);
  EXPECT_EQ(watch_.limit_of(1), 0U);
  const auto end = window({0.8, 0.78, 0.8, 0.8});
  ASSERT_EQ(end.size(), 1U);
  EXPECT_FALSE(end[0].alarming);
  EXPECT_EQ(end[0].text,
            "input: worker 1 gets its share again, after 2 s: 78 % of the data that it asks for");
  EXPECT_EQ(watch_.alarms(), 1U);
  EXPECT_EQ(watch_.workers().at(1).word, "");
}

TEST_F(InputMonitorTest, NamesSlowDeviceWithoutLimits) {
  std::vector<InputMonitor::Word> words;
  for (int i = 0; i < 4; ++i) words = window({0.9, 0.3, 0.9, 0.9}, 50);
  ASSERT_EQ(words.size(), 1U);
  EXPECT_THAT(words[0].text, HasSubstr("worker 1 gets 30 %"));
  EXPECT_THAT(words[0].text, HasSubstr("slow device"));
  for (Rank rank = 0; rank < 4; ++rank) EXPECT_EQ(watch_.limit_of(rank), 0U);
}

TEST_F(InputMonitorTest, ACauseThatTurnsOutToBeAnotherIsSaid) {
  for (int i = 0; i < 4; ++i) window({0.9, 0.3, 0.9, 0.9}, 50);
  for (int i = 0; i < 2; ++i) EXPECT_THAT(window({0.9, 0.3, 0.9, 0.9}), IsEmpty());
  EXPECT_THAT(window({0.9, 0.3, 0.9, 0.9}, 50), IsEmpty()) << "it was right after all";
  for (int i = 0; i < 2; ++i) EXPECT_THAT(window({0.9, 0.3, 0.9, 0.9}), IsEmpty());
  const auto words = window({0.9, 0.3, 0.9, 0.9});
  ASSERT_EQ(words.size(), 1U);
  EXPECT_THAT(words[0].text, HasSubstr("stolen share"));
  EXPECT_EQ(watch_.alarms(), 1U);
}

TEST_F(InputMonitorTest, LowDemandRaisesNoAlarm) {
  window({0.9, 0.9, 0.9, 0.9});
  now_ += 1s;
  for (auto& [rank, all] : workers_) {
    all.at += 1s;
    const std::uint64_t bytes = rank == 2 ? 1'000'000 : 90'000'000;
    all.delivered_bytes += bytes;
    all.demanded_bytes += bytes;
    watch_.heard(rank, all);
  }
  EXPECT_THAT(watch_.judge(now_), IsEmpty());
  EXPECT_EQ(watch_.workers().at(2).word, "low demand");
  EXPECT_EQ(watch_.workers().at(1).word, "");
  EXPECT_EQ(watch_.index(), 1);
}

TEST_F(InputMonitorTest, IgnoresWorkersReadingNoData) {
  for (int i = 0; i < 10; ++i) {
    EXPECT_THAT(window({0.9, 0, 0.9, 0}), IsEmpty());
    EXPECT_EQ(watch_.workers().size(), i > 0 ? 2U : 0U);
  }
  EXPECT_THAT(windows_until_a_word({0.9, 0.3, 0.9, 0}), testing::SizeIs(1));
  const auto end = window({0.9, 0, 0.9, 0});
  ASSERT_EQ(end.size(), 1U);
  EXPECT_EQ(end[0].text, "input: worker 1 reads nothing any more");
}

TEST_F(InputMonitorTest, ForgetsWorkerWithoutHeartbeats) {
  window({0.9, 0.9, 0.9});
  window({0.9, 0.9, 0.9});
  EXPECT_EQ(watch_.workers().size(), 3U);
  for (int i = 0; i < 3; ++i) {
    window({0.9, 0.9});
    EXPECT_EQ(watch_.workers().size(), 3U) << "a heartbeat may come late";
  }
  window({0.9, 0.9});
  EXPECT_EQ(watch_.workers().size(), 2U);
}

TEST_F(InputMonitorTest, LateHeartbeatsKeepWorkerStarved) {
  EXPECT_THAT(windows_until_a_word({0.3, 0.9, 0.9}), testing::SizeIs(1));
  const auto judge_without_the_first = [this] {
    now_ += 1s;
    for (const Rank rank : {Rank{1}, Rank{2}}) {
      InputTotals& all = workers_[rank];
      all.at = now_;
      all.delivered_bytes += 90'000'000;
      all.demanded_bytes += 100'000'000;
      all.stall += 100ms;
      watch_.heard(rank, all);
    }
    return watch_.judge(now_);
  };
  for (int i = 0; i < 3; ++i) EXPECT_THAT(judge_without_the_first(), IsEmpty());
  EXPECT_EQ(watch_.workers().at(0).word, "stolen share");
  EXPECT_THAT(window({0.3, 0.9, 0.9}), IsEmpty()) << "it was said before";
  EXPECT_EQ(watch_.alarms(), 1U);
  for (int i = 0; i < 3; ++i) EXPECT_THAT(judge_without_the_first(), IsEmpty());
  const auto end = judge_without_the_first();
  ASSERT_EQ(end.size(), 1U);
  EXPECT_EQ(end[0].text, "input: worker 0 tells nothing of its input any more");
  EXPECT_EQ(watch_.workers().count(0), 0U);
}

TEST_F(InputMonitorTest, ForgetsDepartedWorker) {
  EXPECT_THAT(windows_until_a_word({0.9, 0.3, 0.9, 0.9}), testing::SizeIs(1));
  EXPECT_NE(watch_.limit_of(0), 0U);
  watch_.left(0);
  watch_.left(1);
  EXPECT_EQ(watch_.limit_of(0), 0U);
  workers_.erase(0);
  workers_.erase(1);
  EXPECT_THAT(watch_.judge(now_ + 1s), IsEmpty());
}

TEST_F(InputMonitorTest, WithoutBalancingItOnlyTells) {
  InputMonitor telling(1s, false);
  InputTotals all;
  std::size_t words = 0;
  for (std::uint64_t second = 1; second < 10; ++second) {
    for (Rank rank = 0; rank < 4; ++rank) {
      all.at = Time(std::chrono::seconds(second));
      all.delivered_bytes = second * (rank == 1 ? 10'000'000 : 90'000'000);
      all.demanded_bytes = second * 100'000'000;
      all.stall = second * (rank == 1 ? 900ms : 100ms);
      all.in_flight_bytes = 8 << 20;
      telling.heard(rank, all);
    }
    words += telling.judge(now_).size();
  }
  EXPECT_EQ(words, 1U);
  for (Rank rank = 0; rank < 4; ++rank) EXPECT_EQ(telling.limit_of(rank), 0U);
}

TEST_F(InputMonitorTest, IgnoresContradictoryTotals) {
  using Bend = std::function<void(InputTotals&)>;
  const std::vector<Bend> bends = {
      [](auto& all) { all.at = Time::max(); },
      [](auto& all) { all.at = Time(); },
      [](auto& all) { all.delivered_bytes = kMost; },
      [](auto& all) { all.delivered_bytes = 0; },
      [](auto& all) { all.demanded_bytes = 0; },
      [](auto& all) { all.demanded_bytes = kMost; },
      [](auto& all) { all.stall = Duration::max(); },
      [](auto& all) { all.requests = kMost; },
      [](auto& all) { all.latency = Duration::max(); },
      [](auto& all) { all.in_flight_bytes = kMost; },
      [](auto& all) { all.read_bytes = kMost; },
  };
  for (const Bend& bend : bends) {
    for (int i = 0; i < 3; ++i) window({0.9, 0.9, 0.9, 0.9});
    InputTotals bent = workers_[1];
    bent.at += 1ns;
    bend(bent);
    watch_.heard(1, bent);
    EXPECT_THAT(window({0.9, 0.9, 0.9, 0.9}), IsEmpty());
    EXPECT_EQ(watch_.workers().count(1), 0U);
    for (int i = 0; i < 2; ++i) window({0.9, 0.9, 0.9, 0.9});
    EXPECT_EQ(watch_.workers().count(1), 1U) << "what it says then counts again";
    EXPECT_GT(watch_.index(), 0.99);
  }
}

TEST_F(InputMonitorTest, MoreWaitingThanTimeIsAllTheTime) {
  window({0.9, 0.9});
  workers_[1].stall += 1000s;
  window({0.9, 0.9});
  EXPECT_EQ(watch_.workers().at(1).stall_share, 1);
}

TEST_F(InputMonitorTest, TellsPrometheus) {
  window({0.5, 0.5});
  window({0.5, 0.5});
  const std::string text = watch_.metrics();
  EXPECT_THAT(text, HasSubstr("# TYPE stretto_input_fairness gauge\nstretto_input_fairness 1\n"));
  EXPECT_THAT(text, HasSubstr("stretto_input_share{rank=\"1\"} 0.5\n"));
  EXPECT_THAT(text, HasSubstr("stretto_input_limit_bytes{rank=\"0\"} 0\n"));
  EXPECT_THAT(text, HasSubstr("stretto_input_alarms_total 0\n"));
}

}  // namespace
}  // namespace stretto

// SPDX-License-Identifier: Apache-2.0
// Progress of the workers as reported by heartbeats, and the detection of stragglers.
#include "scheduler/monitoring/progress_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stretto {
namespace {

using testing::HasSubstr;

constexpr Time kStart{std::chrono::seconds(100)};

TEST(ProgressTable, TellsRoundsStalenessAndSilenceOfEachWorker) {
  ProgressTable overview;
  overview.heard(0, 70, 2, kStart);
  overview.heard(3, 50, 9, kStart + 1s);
  const std::string text = overview.metrics(kStart + 2s);
  EXPECT_THAT(text, HasSubstr("# TYPE stretto_worker_rounds_total counter\n"
                              "stretto_worker_rounds_total{rank=\"0\"} 70\n"
                              "stretto_worker_rounds_total{rank=\"3\"} 50\n"));
  EXPECT_THAT(text, HasSubstr("stretto_worker_rounds_behind{rank=\"3\"} 20\n"));
  EXPECT_THAT(text, HasSubstr("stretto_worker_staleness{rank=\"3\"} 9\n"));
  EXPECT_THAT(text, HasSubstr("stretto_worker_silence_seconds{rank=\"0\"} 2\n"));
}

TEST(ProgressTable, LateJoinerIsNotBehindByMissedRounds) {
  ProgressTable overview;
  overview.heard(0, 700, 0, Time(1s));
  overview.heard(3, 10, 0, Time(1s), 680);
  const std::string text = overview.metrics(Time(1s));
  EXPECT_NE(text.find("rounds_total{rank=\"3\"} 10\n"), std::string::npos);
  EXPECT_NE(text.find("rounds_behind{rank=\"3\"} 10\n"), std::string::npos);
}

TEST(ProgressTable, ForgetsDepartedWorker) {
  ProgressTable overview;
  overview.heard(0, 70, 2, kStart);
  overview.left(0);
  overview.left(5);
  EXPECT_EQ(overview.metrics(kStart).find("rank="), std::string::npos);
}

TEST(ProgressTable, NamesLaggardOncePerWindow) {
  ProgressTable overview;
  for (Rank rank = 0; rank < 4; ++rank) overview.heard(rank, 1000 * rank, 0, kStart);
  EXPECT_EQ(overview.laggards(kStart), "") << "being behind is not being slow";
  for (Rank rank = 0; rank < 4; ++rank) {
    overview.heard(rank, 1000 * rank + (rank == 2 ? 10 : 60), 0, kStart + 9s);
  }
  EXPECT_EQ(overview.laggards(kStart + 9s), "") << "the window goes on";
  EXPECT_EQ(overview.laggards(kStart + 10s), "worker 2 did 10 rounds in 10 s, the middle one 60");
  EXPECT_EQ(overview.laggards(kStart + 11s), "");
}

TEST(ProgressTable, IgnoresPausesAndNewWorkers) {
  ProgressTable overview;
  EXPECT_EQ(overview.laggards(kStart), "") << "there is nobody";
  overview.heard(0, 100, 0, kStart);
  overview.heard(1, 100, 0, kStart);
  (void)overview.laggards(kStart + 10s);
  overview.heard(0, 104, 0, kStart + 20s);
  EXPECT_EQ(overview.laggards(kStart + 20s), "") << "nobody does much";
  overview.heard(0, 204, 0, kStart + 30s);
  overview.heard(1, 204, 0, kStart + 30s);
  overview.heard(2, 1, 0, kStart + 30s);
  EXPECT_EQ(overview.laggards(kStart + 30s), "") << "worker 2 was not there when it began";
}

}  // namespace
}  // namespace stretto

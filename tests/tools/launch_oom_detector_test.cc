// SPDX-License-Identifier: Apache-2.0
// Matches kills with the kernel's count of kills for lack of memory.
#include <gtest/gtest.h>

#include <fstream>

#include "tools/launch/process/oom_detector.h"
#include "tools/launch/supervision/evidence.h"

namespace stretto::launch {
namespace {

class LaunchMemoryKills : public testing::Test {
 protected:
  void counts(int kills) const {
    std::ofstream(path_) << "nr_free_pages 12345\noom_kill " << kills << "\npswpin 7\n";
  }

  const std::string path_ = testing::TempDir() + "vmstat";
  Time now_{1h};
};

TEST_F(LaunchMemoryKills, EachThatIsCountedExplainsOne) {
  counts(5);
  OomDetector kills(path_);
  EXPECT_FALSE(kills.explain_one(now_));
  counts(7);
  EXPECT_TRUE(kills.explain_one(now_));
  EXPECT_TRUE(kills.explain_one(now_));
  EXPECT_FALSE(kills.explain_one(now_));
}

TEST_F(LaunchMemoryKills, IgnoresKillsCountedLongBefore) {
  counts(5);
  OomDetector kills(path_);
  counts(6);
  kills.look(now_);  // Perhaps of another program.
  now_ += OomDetector::kExplainsFor + 1ms;
  EXPECT_FALSE(kills.explain_one(now_));
  counts(7);
  EXPECT_TRUE(kills.explain_one(now_));
}

TEST_F(LaunchMemoryKills, ExplainsEachOfSimultaneousKills) {
  counts(5);
  OomDetector kills(path_);
  counts(7);
  EXPECT_TRUE(kills.explain_one(now_));
  kills.look(now_ += 100ms);  // A replacement started, and another process exited.
  kills.look(now_ += 1s);
  EXPECT_TRUE(kills.explain_one(now_));
  EXPECT_FALSE(kills.explain_one(now_));
}

TEST_F(LaunchMemoryKills, ACountThatGoesBackExplainsNothing) {
  counts(5);
  OomDetector kills(path_);
  counts(3);
  EXPECT_FALSE(kills.explain_one(now_));
  counts(4);
  EXPECT_TRUE(kills.explain_one(now_));
}

TEST_F(LaunchMemoryKills, WithoutACountNothingIsExplained) {
  OomDetector kills("/nonexistent");
  EXPECT_FALSE(kills.explain_one(now_));
}

TEST_F(LaunchMemoryKills, AnEndSaysSo) {
  EXPECT_EQ((Exit{.by_signal = true, .number = 9, .for_memory = true}).text(),
            "killed by SIGKILL, it seems for lack of memory");
  EXPECT_EQ((Exit{true, 9}).text(), "killed by SIGKILL");
}

}  // namespace
}  // namespace stretto::launch

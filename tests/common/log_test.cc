// SPDX-License-Identifier: Apache-2.0
// The log: one line a call, who speaks, and what is left out.
#include "common/log.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <sstream>
#include <thread>
#include <vector>

namespace stretto {
namespace {

std::string captured(const std::function<void()>& speak) {
  testing::internal::CaptureStderr();
  speak();
  return testing::internal::GetCapturedStderr();
}

class LogTest : public testing::Test {
 protected:
  ~LogTest() override {
    set_log_level(Level::kInfo);
    set_log_identity({});
  }
};

TEST_F(LogTest, LineShowsLevelAndIdentity) {
  set_log_identity({"worker", 3});
  EXPECT_EQ(captured([] { log(Level::kWarning, "{} of {}", 1, 2); }),
            "stretto warning worker 3: 1 of 2\n");
  set_log_identity({"scheduler", -1});
  EXPECT_EQ(captured([] { log(Level::kError, "x"); }), "stretto error scheduler: x\n");
  EXPECT_EQ(log_identity().role, "scheduler");
}

TEST_F(LogTest, EscapesLineBreaksOfUntrustedText) {
  EXPECT_EQ(captured([] { log(Level::kInfo, "{}", "x\nstretto error: all is lost\x1b[2J"); }),
            "stretto info process: x\\nstretto error: all is lost\\x1b[2J\n");
}

TEST_F(LogTest, LevelsBelowTheOneSetAreLeftOut) {
  const auto all = [] {
    for (const Level level : {Level::kDebug, Level::kInfo, Level::kWarning, Level::kError}) {
      log(level, "x");
    }
  };
  const auto lines = [&all] {
    const std::string text = captured(all);
    return std::count(text.begin(), text.end(), '\n');
  };
  EXPECT_EQ(lines(), 3) << "info and above, if nothing else is said";
  set_log_level(Level::kDebug);
  EXPECT_EQ(lines(), 4);
  set_log_level(Level::kError);
  EXPECT_EQ(lines(), 1);
  set_log_level(Level::kSilent);
  EXPECT_EQ(lines(), 0);
  EXPECT_FALSE(log_enabled(Level::kSilent));
}

TEST_F(LogTest, LevelsAreReadByName) {
  EXPECT_EQ(level_named("debug"), Level::kDebug);
  EXPECT_EQ(level_named("info"), Level::kInfo);
  EXPECT_EQ(level_named("warning"), Level::kWarning);
  EXPECT_EQ(level_named("error"), Level::kError);
  EXPECT_EQ(level_named("silent"), Level::kSilent);
  EXPECT_FALSE(level_named("loud"));
}

TEST_F(LogTest, LinesOfManyThreadsAreNotMixed) {
  const std::string text = captured([] {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([] {
        for (int line = 0; line < 50; ++line) log(Level::kInfo, "{}", std::string(100, 'x'));
      });
    }
  });
  std::istringstream lines(text);
  int count = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    ASSERT_EQ(line, "stretto info process: " + std::string(100, 'x'));
  }
  EXPECT_EQ(count, 200);
}

}  // namespace
}  // namespace stretto

// SPDX-License-Identifier: Apache-2.0
// SIGTERM, sent to this process and to children of it.
#include "worker/elastic/notice_watch.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <memory>

namespace stretto {
namespace {

using namespace std::chrono_literals;

bool sigterm_has_default() {
  struct sigaction now{};
  return ::sigaction(SIGTERM, nullptr, &now) == 0 && now.sa_handler == SIG_DFL;
}

TEST(NoticeWatch, FirstSignalTellsAndSecondIsSame) {
  {
    const NoticeWatch watch(20s);
    EXPECT_FALSE(watch.told_ago());
    ASSERT_EQ(std::raise(SIGTERM), 0);
    ASSERT_EQ(std::raise(SIGTERM), 0);
    ASSERT_TRUE(watch.told_ago());
    EXPECT_GE(*watch.told_ago(), 0ns);
    EXPECT_FALSE(NoticeWatch(20s).told_ago()) << "there is one already";
  }
  EXPECT_TRUE(sigterm_has_default());
  EXPECT_FALSE(NoticeWatch(20s).told_ago()) << "the notice was the earlier one's";
}

TEST(NoticeWatch, HandlerOfProgramStays) {
  auto watch = std::make_unique<NoticeWatch>(20s);
  std::signal(SIGTERM, SIG_IGN);
  watch.reset();
  EXPECT_FALSE(sigterm_has_default());
  {
    const NoticeWatch other(20s);
    ASSERT_EQ(std::raise(SIGTERM), 0);
    EXPECT_FALSE(other.told_ago());
  }
  std::signal(SIGTERM, SIG_DFL);
}

TEST(NoticeWatch, ReinstallReplacesDefaultAlone) {
  NoticeWatch watch(20s);
  std::signal(SIGTERM, SIG_IGN);
  watch.reinstall();
  ASSERT_EQ(std::raise(SIGTERM), 0);
  EXPECT_FALSE(watch.told_ago()) << "the program ignores it";
  std::signal(SIGTERM, SIG_DFL);
  watch.reinstall();
  ASSERT_FALSE(sigterm_has_default());
  ASSERT_EQ(std::raise(SIGTERM), 0);
  EXPECT_TRUE(watch.told_ago());
}

TEST(NoticeWatch, ForkedChildGetsDefault) {
  auto watch = std::make_unique<NoticeWatch>(20s);
  ASSERT_EQ(std::raise(SIGTERM), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    if (watch->told_ago()) ::_exit(1);
    watch.reset();
    (void)std::raise(SIGTERM);
    ::_exit(2);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM) << status;
  EXPECT_TRUE(watch->told_ago());
}

TEST(NoticeWatchDeathTest, LaterSignalEndsProcess) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto twice = [] {
    const NoticeWatch watch(10s);
    (void)std::raise(SIGTERM);
    while (*watch.told_ago() < 1s) continue;
    (void)std::raise(SIGTERM);
  };
  EXPECT_EXIT(twice(), testing::KilledBySignal(SIGTERM), "was told to end");
}

TEST(NoticeWatchDeathTest, EndOfPatienceEndsProcess) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto stands_still = [] {
    const NoticeWatch watch(200ms);
    (void)std::raise(SIGTERM);
    for (;;) ::pause();
  };
  EXPECT_EXIT(stands_still(), testing::KilledBySignal(SIGTERM),
              "no end of a step within 0.2 s of SIGTERM, and ends now");
}

}  // namespace
}  // namespace stretto

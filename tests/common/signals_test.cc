// SPDX-License-Identifier: Apache-2.0
// Real signals, sent to this process: each arrives as one call on the watcher's thread.
#include "common/process/signals.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <future>
#include <semaphore>
#include <thread>
#include <utility>
#include <vector>

namespace stretto {
namespace {

/// Restores the thread's signal mask, and consumes signals that a test left pending.
class SignalsTest : public testing::Test {
 protected:
  SignalsTest() { pthread_sigmask(SIG_SETMASK, nullptr, &before_); }
  ~SignalsTest() override {
    sigset_t ours;
    sigemptyset(&ours);
    sigaddset(&ours, SIGINT);
    sigaddset(&ours, SIGTERM);
    const timespec at_once{};
    while (sigtimedwait(&ours, nullptr, &at_once) > 0) {
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }

 private:
  sigset_t before_{};
};

TEST_F(SignalsTest, ASignalBecomesACallOnAnotherThread) {
  for (const int signal : {SIGTERM, SIGINT}) {
    std::promise<std::pair<int, std::thread::id>> heard;
    const SignalWatcher watcher(SignalBlock(), [&heard](int number) {
      heard.set_value({number, std::this_thread::get_id()});
    });
    ASSERT_EQ(kill(getpid(), signal), 0);
    const auto [number, thread] = heard.get_future().get();
    EXPECT_EQ(number, signal);
    EXPECT_NE(thread, std::this_thread::get_id());
  }
}

TEST_F(SignalsTest, EachSignalIsACall) {
  std::binary_semaphore heard{0};
  std::vector<int> numbers;
  const SignalWatcher watcher(SignalBlock(), [&](int number) {
    numbers.push_back(number);
    heard.release();
  });
  const std::vector<int> sent{SIGTERM, SIGTERM, SIGINT, SIGTERM};
  for (const int signal : sent) {
    ASSERT_EQ(kill(getpid(), signal), 0);
    heard.acquire();
  }
  EXPECT_EQ(numbers, sent);
}

TEST_F(SignalsTest, ASignalBeforeTheWatcherWaitsForIt) {
  const SignalBlock block;
  ASSERT_EQ(kill(getpid(), SIGTERM), 0);
  std::promise<int> heard;
  const SignalWatcher watcher(block, [&heard](int number) { heard.set_value(number); });
  EXPECT_EQ(heard.get_future().get(), SIGTERM);
}

TEST_F(SignalsTest, EarlierThreadsLeaveSignalsToWatcher) {
  const SignalBlock block;
  const std::jthread other([](const std::stop_token& over) {
    while (!over.stop_requested()) std::this_thread::yield();
  });
  std::promise<int> heard;
  const SignalWatcher watcher(block, [&heard](int number) { heard.set_value(number); });
  ASSERT_EQ(kill(getpid(), SIGTERM), 0);
  EXPECT_EQ(heard.get_future().get(), SIGTERM);
}

TEST_F(SignalsTest, WatcherWithoutSignalCallsNoHandler) {
  int calls = 0;
  {
    const SignalWatcher watcher(SignalBlock(), [&calls](int) { ++calls; });
  }
  EXPECT_EQ(calls, 0);
}

}  // namespace
}  // namespace stretto

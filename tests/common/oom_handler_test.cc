// SPDX-License-Identifier: Apache-2.0
// The error lines of processes that run out of memory, each a child of this one.
#include "common/process/oom_handler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <new>
#include <system_error>
#include <thread>
#include <vector>

#include "common/log.h"
#include "common/memory.h"

namespace stretto {
namespace {

constexpr char kLine[] =
    "ERROR Resource role=worker rank=3 peer=- op=- cause=out of memory: .*this process has .*"
    "ulimit -v";

/// Calls `die` in a process that can allocate at most `more` MiB more.
template <typename Die>
void with_little_memory(rlim_t more, Die die) {
  set_log_identity({"worker", 3});
  promise_last_words();
  const rlim_t most = resident_bytes() + (rlim_t{4} << 30);
  const rlimit limit{most + (more << 20), most + (more << 20)};
  setrlimit(RLIMIT_AS, &limit);
  die();
}

class LastWords : public testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

TEST_F(LastWords, PrintedForUncaughtBadAlloc) {
  EXPECT_EXIT(with_little_memory(0,
                                 [] {
                                   std::thread([] {
                                     const std::vector<char> much(std::size_t{8} << 30);
                                     std::printf("%d", much.back());
                                   }).join();
                                 }),
              testing::KilledBySignal(SIGABRT), kLine);
}

TEST_F(LastWords, UncaughtOutOfMemoryNamesRequestedBytes) {
  EXPECT_EXIT(with_little_memory(0, [] { std::thread([] { throw OutOfMemory(4711); }).join(); }),
              testing::KilledBySignal(SIGABRT), "wanted 4711 bytes more; this process has");
}

TEST_F(LastWords, OfALibraryThatAborts) {
  EXPECT_EXIT(with_little_memory(0,
                                 [] {
                                   const std::size_t much = std::size_t{8} << 30;
                                   ::operator delete(::operator new(much, std::nothrow));
                                   std::abort();
                                 }),
              testing::KilledBySignal(SIGABRT), kLine);
}

TEST_F(LastWords, OfAThreadThatCannotBe) {
  const auto die = [] {
    set_log_identity({"server", 1});
    promise_last_words();
    throw std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again));
  };
  EXPECT_EXIT(std::thread(die).join(), testing::KilledBySignal(SIGABRT),
              "ERROR Resource role=server rank=1 peer=- op=- cause=no more threads: .*ulimit -u");
}

TEST_F(LastWords, AbortFromOutsideEndsProcess) {
  const auto die = [] {
    promise_last_words();
    ::kill(::getpid(), SIGABRT);
    std::exit(0);  // kill() to the own process has delivered the signal already.
  };
  EXPECT_EXIT(die(), testing::KilledBySignal(SIGABRT), "");
}

TEST_F(LastWords, AreSilentOfOtherEnds) {
  const auto die = [] {
    promise_last_words();
    std::abort();
  };
  EXPECT_EXIT(die(), testing::KilledBySignal(SIGABRT), testing::Not(testing::HasSubstr("ERROR")));
}

TEST_F(LastWords, CaughtBadAllocPrintsNothing) {
  EXPECT_EXIT(with_little_memory(0,
                                 [] {
                                   try {
                                     const std::vector<char> much(std::size_t{8} << 30);
                                     std::printf("%d", much.back());
                                   } catch (const std::bad_alloc&) {
                                     std::exit(7);
                                   }
                                 }),
              testing::ExitedWithCode(7), "^$");
}

}  // namespace
}  // namespace stretto

// SPDX-License-Identifier: Apache-2.0
// What /proc says of a thread, in few groups; and of a real one.
#include "worker/monitoring/thread_state.h"

#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <thread>

namespace stretto {
namespace {

using Rest = control::Activity::Rest;

ThreadState rest_of(const std::string& state, const std::string& syscall,
                    const std::string& wchan = "0") {
  return thread_rest_from("12 (a) b) " + state + " 1 12", syscall, wchan,
                          [](int file) { return "file " + std::to_string(file); });
}

std::string call(long number, const std::string& arguments = " 0x4 0x0 0x0") {
  return std::to_string(number) + arguments + "\n";
}

TEST(ThreadStateTest, StatesAndCallsAreTold) {
  EXPECT_EQ(rest_of("R", "running\n").rest, Rest::kRuns);
  EXPECT_EQ(rest_of("S", call(SYS_futex)).rest, Rest::kLock);
  EXPECT_EQ(rest_of("S", call(SYS_clock_nanosleep)).rest, Rest::kSleep);
  EXPECT_EQ(rest_of("S", call(SYS_wait4)).rest, Rest::kChild);
  EXPECT_EQ(rest_of("D", call(SYS_fsync)).rest, Rest::kDevice);
  EXPECT_EQ(rest_of("S", call(SYS_getpid)).rest, Rest::kUnknown);
  const ThreadState reads = rest_of("S", call(SYS_read));
  EXPECT_EQ(reads.rest, Rest::kRead);
  EXPECT_EQ(reads.on, "read of file 4");
}

TEST(ThreadStateTest, APageThatDoesNotComeIsMemory) {
  EXPECT_EQ(rest_of("D", "-1 0x7ffd 0x7f00\n", "folio_wait_bit_common").rest, Rest::kMemory);
  EXPECT_EQ(rest_of("S", call(SYS_read), "handle_userfault").rest, Rest::kMemory);
}

#ifdef SYS_poll
TEST(ThreadStateTest, APollOfNothingIsASleep) {
  EXPECT_EQ(rest_of("S", call(SYS_poll, " 0x0 0x0 0x3e8")).rest, Rest::kSleep);
  EXPECT_EQ(rest_of("S", call(SYS_poll, " 0x7f 0x1 0x3e8")).rest, Rest::kRead);
  EXPECT_EQ(rest_of("S", call(SYS_select, " 0x0 0x0 0x0")).rest, Rest::kSleep);
}
#endif

TEST(ThreadStateTest, NonsenseIsUnknown) {
  for (const char* stat : {"", "12", "12 (a)", "12 (a) ", "12 (a) Z"}) {
    const auto none = [](int) { return std::string(); };
    EXPECT_EQ(thread_rest_from(stat, "x", "", none).rest, Rest::kUnknown) << stat;
  }
  EXPECT_EQ(rest_of("S", "").rest, Rest::kUnknown);
  EXPECT_EQ(rest_of("S", "0xzz 1").rest, Rest::kUnknown);
  EXPECT_EQ(rest_of_thread(0).rest, Rest::kUnknown);
}

TEST(ThreadStateTest, ARealThreadThatReadsAPipe) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  std::atomic<pid_t> self{0};
  std::jthread reader([&] {
    self = ::gettid();
    char byte = 0;
    static_cast<void>(::read(ends[0], &byte, 1));
  });
  while (self == 0) std::this_thread::yield();
  ThreadState rest = rest_of_thread(self);
  for (int i = 0; i < 100000 && rest.rest != Rest::kRead; ++i) rest = rest_of_thread(self);
  EXPECT_EQ(rest.rest, Rest::kRead);
  EXPECT_EQ(rest.on.substr(0, 13), "read of pipe:");
  ASSERT_EQ(::write(ends[1], "x", 1), 1);
  reader.join();
  ::close(ends[0]);
  ::close(ends[1]);
}

}  // namespace
}  // namespace stretto

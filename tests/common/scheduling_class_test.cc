// SPDX-License-Identifier: Apache-2.0
// Which threads the kernel schedules later, by their class and nice value.
#include "common/threads/scheduling_class.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <functional>
#include <thread>

namespace stretto {
namespace {

// The class of a thread that has called `change`; in Linux setpriority() affects one thread.
SchedulingClass after(const std::function<int()>& change) {
  SchedulingClass found;
  std::jthread([&] {
    EXPECT_EQ(change(), 0);
    found = SchedulingClass::of(::gettid());
  }).join();
  return found;
}
int become_idle() {
  const sched_param none{};
  return ::sched_setscheduler(0, SCHED_IDLE, &none);
}
int become_nice(int by) {
  return ::setpriority(PRIO_PROCESS, 0, ::getpriority(PRIO_PROCESS, 0) + by);
}

TEST(SchedulingClass, TheKernelGivesALesserOneItsProcessorLater) {
  const SchedulingClass usual = SchedulingClass::of(0);
  const SchedulingClass nice = after([] { return become_nice(1); });
  const SchedulingClass idle = after(become_idle);
  EXPECT_EQ(after([] { return 0; }), usual) << "threads begin as those that make them";
  EXPECT_LT(nice, usual);
  EXPECT_LT(idle, nice);
  if (::getpriority(PRIO_PROCESS, 0) < 15) {
    EXPECT_LT(after([] { return become_nice(4); }), nice);
  }
}

TEST(SchedulingClass, OfAThreadThatIsNotThereItIsTheUsualOne) {
  EXPECT_EQ(SchedulingClass::of(-1), SchedulingClass());
}

}  // namespace
}  // namespace stretto

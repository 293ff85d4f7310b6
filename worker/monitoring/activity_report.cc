// SPDX-License-Identifier: Apache-2.0
// /proc is read only after the program has been outside for a while: a running job pays nothing.
#include "worker/monitoring/activity_report.h"

#include <sys/resource.h>
#include <unistd.h>

#include <ctime>
#include <utility>

#include "worker/monitoring/thread_state.h"

namespace stretto {
namespace {

constexpr Duration kWorthALook = 900ms;

Duration processor_time() {
  timespec time{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return std::chrono::seconds(time.tv_sec) + Duration(time.tv_nsec);
}

std::uint64_t page_reads() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::uint64_t>(usage.ru_majflt);
}

}  // namespace

control::Activity ActivityReport::at(Time now, control::Activity known, Time oldest) {
  using CallPlace = control::Activity::Place;
  const WaitingThreads::Look callers = callers_ ? callers_->look() : WaitingThreads::Look{};
  const bool comes_and_goes = callers.waits != std::exchange(waits_, callers.waits);
  const bool polls = comes_and_goes && oldest != Time();  // By waits with short limits.
  const CallPlace place = pauses_->ending()      ? CallPlace::kEnding
                          : callers.any || polls ? CallPlace::kInCall
                                                 : CallPlace::kOutside;
  if (place != std::exchange(place_, place) || comes_and_goes || since_ == Time()) since_ = now;
  known.place = place;
  known.age = now - since_;
  if (place == CallPlace::kInCall && oldest != Time()) known.age = now - oldest;
  known.pause = pauses_->latest();
  if (callers_ == nullptr) return known;
  known.cpu = processor_time();
  known.page_reads = page_reads();
  if (place != CallPlace::kInCall && known.age >= kWorthALook) {
    ThreadState rest = rest_of_thread(callers.last);
    // If it has ended: the main thread, whose id is the process's.
    if (rest.rest == control::Activity::Rest::kUnknown) rest = rest_of_thread(::getpid());
    known.rest = rest.rest;
    known.rest_on = std::move(rest.on);
  }
  return known;
}

}  // namespace stretto

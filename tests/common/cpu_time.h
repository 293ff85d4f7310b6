// SPDX-License-Identifier: Apache-2.0
// The processor time of a piece of work. Tests compare it between sizes of the same work: its
// growth depends neither on the machine nor on other processes.
#pragma once

#include <time.h>

#include <algorithm>
#include <chrono>

#include "stretto/types.h"

namespace stretto {

inline Duration thread_cpu_time() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

/// The least processor time of `runs` runs.
template <typename Work>
Duration least_cpu_time(const Work& work, int runs = 3) {
  Duration least = Duration::max();
  for (int run = 0; run < runs; ++run) {
    const Duration begin = thread_cpu_time();
    work();
    least = std::min(least, thread_cpu_time() - begin);
  }
  return least;
}

}  // namespace stretto

// SPDX-License-Identifier: Apache-2.0
// The kernel's account of a thread: nanoseconds on a processor, nanoseconds of waiting for one, and
// how often it was given one (Documentation/scheduler/sched-stats.rst).
#include "common/clock.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <string_view>

#include "common/descriptor.h"

namespace stretto {

// The file stays open, so that a read is one system call instead of three. In a forked child, a
// thread that opened the file before the fork still reads its parent's account.
Duration SteadyClock::waited() const {
  thread_local const Descriptor kFile(::open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC));
  if (!kFile.is_open()) return Duration::zero();
  char text[96];
  const ssize_t bytes = ::pread(kFile.get(), text, sizeof(text), 0);
  if (bytes <= 0) return Duration::zero();
  std::string_view rest(text, static_cast<std::size_t>(bytes));
  rest.remove_prefix(std::min(rest.find(' ') + 1, rest.size()));
  std::int64_t nanoseconds = 0;
  std::from_chars(rest.data(), rest.data() + rest.size(), nanoseconds);
  return std::chrono::nanoseconds(nanoseconds);
}

}  // namespace stretto

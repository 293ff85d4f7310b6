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

namespace stretto {

Duration SteadyClock::waited() const {
  const int file = ::open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
  if (file < 0) return Duration::zero();
  char text[96];
  const ssize_t bytes = ::read(file, text, sizeof(text));
  ::close(file);
  if (bytes <= 0) return Duration::zero();
  std::string_view rest(text, static_cast<std::size_t>(bytes));
  rest.remove_prefix(std::min(rest.find(' ') + 1, rest.size()));
  std::int64_t nanoseconds = 0;
  std::from_chars(rest.data(), rest.data() + rest.size(), nanoseconds);
  return std::chrono::nanoseconds(nanoseconds);
}

}  // namespace stretto

// SPDX-License-Identifier: Apache-2.0
// Two lines, and the end of the descriptor.
#include "scheduler/ready_line.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

namespace stretto {

Status ReadyLine::tell_address(std::string_view address) {
  if (descriptor_ < 0) return {};
  // Who reads only the first line must not end us by closing before the second.
  std::signal(SIGPIPE, SIG_IGN);
  if (say(address)) return {};
  return {Code::kInvalidArgument,
          fmt::format("--ready_fd {} cannot be written to: {}", descriptor_, std::strerror(errno))};
}

void ReadyLine::step(Duration wait) {
  agent_.step(wait);
  if (descriptor_ < 0 || !begun_()) return;
  say(kBegun);
  close();
}

bool ReadyLine::say(std::string_view text) const {
  const std::string line = fmt::format("{}\n", text);
  return ::write(descriptor_, line.data(), line.size()) == static_cast<ssize_t>(line.size());
}

void ReadyLine::close() {
  const int descriptor = std::exchange(descriptor_, -1);
  if (descriptor >= 0) ::close(descriptor);
}

}  // namespace stretto

// SPDX-License-Identifier: Apache-2.0
// Reads the kernel's list of this process's children.
#include "tools/launch/process/orphans.h"

#include <fmt/core.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <vector>

#include "tools/launch/process/pidfd.h"

namespace stretto::launch {
namespace {

// The children of this process, which has one thread.
std::set<pid_t> children() {
  std::ifstream file(fmt::format("/proc/self/task/{}/children", ::getpid()));
  std::set<pid_t> found;
  for (pid_t process_id = 0; file >> process_id;) found.insert(process_id);
  return found;
}

// Waits until one of the processes has ended, or for at most `patience`.
void await_end(const std::set<pid_t>& processes, Duration patience) {
  std::vector<Descriptor> handles;
  std::vector<pollfd> looks;
  for (const pid_t process_id : processes) {
    handles.push_back(process_handle(process_id));
    looks.push_back({handles.back().get(), POLLIN, 0});
  }
  const auto wait = std::chrono::ceil<std::chrono::milliseconds>(patience).count();
  ::poll(looks.data(), looks.size(), static_cast<int>(wait));
}

}  // namespace

Orphans::Orphans() : known_(children()) { ::prctl(PR_SET_CHILD_SUBREAPER, 1); }

std::set<pid_t> Orphans::found() const {
  std::set<pid_t> orphans;
  for (const pid_t process_id : children()) {
    if (!known_.contains(process_id)) orphans.insert(process_id);
  }
  return orphans;
}

std::size_t Orphans::reap() {
  std::size_t running = 0;
  for (const pid_t process_id : found()) {
    if (::waitpid(process_id, nullptr, WNOHANG) == 0 && known_.contains(::getpgid(process_id))) {
      ++running;
    }
  }
  return running;
}

std::size_t Orphans::kill_all(const Clock& clock, Duration patience) {
  const Time until = clock.now() + patience;
  while (true) {
    std::set<pid_t> left;
    for (const pid_t process_id : found()) {
      ::kill(process_id, SIGKILL);
      if (::waitpid(process_id, nullptr, WNOHANG) == 0) left.insert(process_id);
    }
    if (left.empty() && found().empty()) return 0;
    const Time now = clock.now();
    if (now >= until) return left.size();
    if (!left.empty()) await_end(left, until - now);
  }
}

}  // namespace stretto::launch

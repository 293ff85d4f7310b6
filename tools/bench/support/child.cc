// SPDX-License-Identifier: Apache-2.0
// fork, and a pidfd to wait for.
#include "tools/bench/support/child.h"

#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <utility>

#include "tools/bench/support/now.h"
#include "tools/bench/support/system.h"
#include "tools/launch/process/pidfd.h"

namespace stretto::bench {
namespace {

constexpr Duration kGrace = 10s;  // Between SIGTERM and SIGKILL; the launcher's own is shorter.

}  // namespace

int milliseconds_to(Time deadline) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - now()).count();
  constexpr std::int64_t kDay = 86'400'000;
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, kDay));
}

Result<Child> Child::start(int death_signal, const std::function<int()>& body) {
  std::fflush(nullptr);  // Otherwise both processes would print buffered output.
  const pid_t parent = ::getpid();
  const pid_t process_id = ::fork();
  if (process_id < 0) {
    return refused(Code::kResource, "no new process");
  }
  if (process_id == 0) {
    const bool bound = ::prctl(PR_SET_PDEATHSIG, death_signal) == 0 && ::getppid() == parent;
    ::_exit(bound ? body() : 1);
  }
  Descriptor handle = launch::process_handle(process_id);
  if (!handle.is_open()) {
    Status status = refused(Code::kResource, "no pidfd");
    ::kill(process_id, SIGKILL);
    ::waitpid(process_id, nullptr, 0);
    return status;
  }
  return Child(process_id, std::move(handle));
}

Child::Child(Child&& other) noexcept
    : process_id_(std::exchange(other.process_id_, -1)),
      handle_(std::move(other.handle_)),
      exit_status_(other.exit_status_) {}

Child::~Child() {
  if (process_id_ < 0 || exit_status_) return;
  send_signal(SIGTERM);
  if (wait(now() + kGrace)) return;
  send_signal(SIGKILL);
  ::waitpid(process_id_, nullptr, 0);
}

std::optional<int> Child::wait(Time deadline) {
  if (exit_status_) return exit_status_;
  pollfd look{handle_.get(), POLLIN, 0};
  int ready = 0;
  do {
    ready = ::poll(&look, 1, milliseconds_to(deadline));
  } while (ready < 0 && errno == EINTR);
  int status = 0;
  if (ready <= 0 || ::waitpid(process_id_, &status, 0) != process_id_) return std::nullopt;
  exit_status_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return exit_status_;
}

void Child::send_signal(int signal) const {
  if (process_id_ > 0 && !exit_status_) ::kill(process_id_, signal);
}

Status Children::start(const std::function<int()>& body) {
  Result<Child> child = Child::start(SIGKILL, body);
  if (!child.ok()) return child.status();
  children_.push_back(*std::move(child));
  return {};
}

std::vector<Child*> Children::all() {
  std::vector<Child*> pointers;
  for (Child& child : children_) pointers.push_back(&child);
  return pointers;
}

std::vector<pid_t> Children::process_ids() const {
  std::vector<pid_t> process_ids;
  for (const Child& child : children_) process_ids.push_back(child.process_id());
  return process_ids;
}

void Children::kill() {
  for (const Child& child : children_) child.send_signal(SIGKILL);
  children_.clear();
}

}  // namespace stretto::bench

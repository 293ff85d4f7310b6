// SPDX-License-Identifier: Apache-2.0
// A child process that deletes files: the kernel signals it when its parent dies.
#include "tools/launch/process/file_guard.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace stretto::launch {
namespace {

constexpr int kParentDied = SIGUSR1;

// Detaches the child. It closes descriptors that others wait for, leaves the group that a terminal
// or caller signals, and clears the environment, which may hold the job's token.
void stand_apart() {
  ::setsid();
  ::prctl(PR_SET_NAME, "stretto-cleanup");
  const int nothing = ::open("/dev/null", O_RDWR);
  for (const int each : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) ::dup2(nothing, each);
  ::close_range(STDERR_FILENO + 1, ~0U, 0);
  for (char** entry = environ; *entry != nullptr; ++entry) {
    ::memset(*entry, 0, ::strlen(*entry));
  }
}

// Runs in the child. The parent's other children, which may write, are signalled at the same time.
[[noreturn]] void guard(pid_t parent, const std::vector<std::string>& paths) {
  stand_apart();
  sigset_t awaited;
  ::sigemptyset(&awaited);
  ::sigaddset(&awaited, kParentDied);
  ::sigprocmask(SIG_BLOCK, &awaited, nullptr);
  ::prctl(PR_SET_PDEATHSIG, kParentDied);
  int signal = 0;
  if (::getppid() == parent) ::sigwait(&awaited, &signal);  // The parent may be dead already.
  for (const std::string& path : paths) {
    if (::unlink(path.c_str()) != 0) ::rmdir(path.c_str());
  }
  ::_exit(0);
}

}  // namespace

FileGuard::FileGuard(const std::vector<std::string>& paths) {
  const pid_t parent = ::getpid();
  process_ = ::fork();
  if (process_ == 0) guard(parent, paths);
}

FileGuard::~FileGuard() {
  if (process_ < 0) return;
  ::kill(process_, SIGKILL);
  ::waitpid(process_, nullptr, 0);
}

}  // namespace stretto::launch

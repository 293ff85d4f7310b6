// SPDX-License-Identifier: Apache-2.0
// signalfd.
#include "tools/launch/process/signals.h"

#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

namespace stretto::launch {
namespace {

bool ignored(int signal) {
  struct sigaction action{};
  return ::sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

}  // namespace

Signals::Signals() {
  sigset_t wanted;
  ::sigemptyset(&wanted);
  ::sigaddset(&wanted, SIGCHLD);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    if (!ignored(signal)) ::sigaddset(&wanted, signal);
  }
  // A caller that ignores SIGCHLD would have the kernel throw exit statuses away.
  ::signal(SIGCHLD, SIG_DFL);
  before_.pipe_ignored = ignored(SIGPIPE);
  ::signal(SIGPIPE, SIG_IGN);
  ::sigprocmask(SIG_BLOCK, &wanted, &before_.mask);
  descriptor_ = Descriptor(::signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK));
}

std::optional<int> Signals::next() {
  signalfd_siginfo found{};
  if (::read(descriptor_.get(), &found, sizeof found) != sizeof found) return std::nullopt;
  sender_ = static_cast<pid_t>(found.ssi_pid);
  const int signal = static_cast<int>(found.ssi_signo);
  asked_to_end_ = asked_to_end_ || signal != SIGCHLD;
  return signal;
}

}  // namespace stretto::launch

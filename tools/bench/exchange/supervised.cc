// SPDX-License-Identifier: Apache-2.0
// The status travels through a pipe; signals are read from a descriptor, so that one poll waits for
// both.
#include "tools/bench/exchange/supervised.h"

#include <fmt/core.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>

#include <array>
#include <string>

#include "tools/bench/support/child.h"
#include "tools/bench/support/system.h"

namespace stretto::bench {
namespace {

// One write of the code, then the text; a pipe takes this much atomically.
void write_status(const Descriptor& pipe, const Status& status) {
  std::string text(1, static_cast<char>(status.code()));
  text += status.operation().empty() ? status.cause()
                                     : fmt::format("{}: {}", status.operation(), status.cause());
  text.resize(std::min<std::size_t>(text.size(), PIPE_BUF));
  if (::write(pipe.get(), text.data(), text.size()) < 0) return;  // The supervisor has died.
}

Status read_status(const Descriptor& pipe, int exit_status) {
  std::array<char, PIPE_BUF> bytes{};
  const ssize_t got = ::read(pipe.get(), bytes.data(), bytes.size());
  if (got <= 0) {
    return {Code::kPeerLost, fmt::format("the benchmark ended with status {}", exit_status)};
  }
  return {static_cast<Code>(bytes[0]), std::string(&bytes[1], static_cast<std::size_t>(got) - 1)};
}

// Waits for the benchmark's child processes, which were killed with the benchmark and reparented to
// this process. On return, no child uses the resources that the caller removes next.
void await_orphans() {
  while (::waitpid(-1, nullptr, 0) > 0 || errno == EINTR) {
  }
}

}  // namespace

HeldSignals::HeldSignals() {
  ::sigemptyset(&held_);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) ::sigaddset(&held_, signal);
  ::sigprocmask(SIG_BLOCK, &held_, &before_);
}

HeldSignals::~HeldSignals() { ::sigprocmask(SIG_SETMASK, &before_, nullptr); }

void HeldSignals::let_go() const { ::sigprocmask(SIG_SETMASK, &before_, nullptr); }

Status run_supervised(const HeldSignals& signals, const std::function<Status()>& body) {
  Result<Pipe> pipe = Pipe::open();
  if (!pipe.ok()) return pipe.status();
  const Descriptor came(::signalfd(-1, &signals.held(), SFD_CLOEXEC | SFD_NONBLOCK));
  if (!came.is_open()) return refused(Code::kResource, "no descriptor for signals");
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  Result<Child> child = Child::start(SIGKILL, [&] {
    signals.let_go();
    const Status status = body();
    write_status(pipe->write, status);
    return status.ok() ? 0 : 1;
  });
  if (!child.ok()) return child.status();
  pipe->write.close();
  std::array<pollfd, 2> looks{{{child->handle().get(), POLLIN, 0}, {came.get(), POLLIN, 0}}};
  while (::poll(looks.data(), looks.size(), -1) < 0 && errno == EINTR) {
  }
  signalfd_siginfo signal{};
  const bool interrupted = ::read(came.get(), &signal, sizeof signal) == sizeof signal;
  if (interrupted) child->send_signal(SIGKILL);
  const int ended_with = child->wait(Time::max()).value_or(1);
  await_orphans();
  if (interrupted) {
    return {Code::kInterrupted,
            fmt::format("{} came", ::strsignal(static_cast<int>(signal.ssi_signo)))};
  }
  return read_status(pipe->read, ended_with);
}

}  // namespace stretto::bench

// SPDX-License-Identifier: Apache-2.0
// A signalfd on a thread of its own: no handler runs in the middle of other code.
#include "common/process/signals.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <array>

#include "common/check.h"

namespace stretto {

SignalBlock::SignalBlock() {
  sigemptyset(&signals_);
  sigaddset(&signals_, SIGINT);
  sigaddset(&signals_, SIGTERM);
  STRETTO_CHECK(pthread_sigmask(SIG_BLOCK, &signals_, nullptr) == 0);
}

SignalWatcher::SignalWatcher(const SignalBlock& block, std::function<void(int)> on_signal) {
  signal_fd_ = signalfd(-1, &block.signals(), SFD_CLOEXEC);
  stop_fd_ = eventfd(0, EFD_CLOEXEC);
  STRETTO_CHECK(signal_fd_ >= 0 && stop_fd_ >= 0);
  thread_ = std::jthread([this, call = std::move(on_signal)] { watch(call); });
}

SignalWatcher::~SignalWatcher() {
  eventfd_write(stop_fd_, 1);
  thread_.join();
  close(signal_fd_);
  close(stop_fd_);
}

void SignalWatcher::watch(const std::function<void(int)>& on_signal) const {
  std::array<pollfd, 2> fds{{{signal_fd_, POLLIN, 0}, {stop_fd_, POLLIN, 0}}};
  while (true) {
    if (poll(fds.data(), fds.size(), -1) < 0) continue;
    if (fds[1].revents != 0) return;
    signalfd_siginfo info{};
    if (read(signal_fd_, &info, sizeof info) != sizeof info) return;
    on_signal(static_cast<int>(info.ssi_signo));
  }
}

void ignore_file_limit() { std::signal(SIGXFSZ, SIG_IGN); }

}  // namespace stretto

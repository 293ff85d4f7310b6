// SPDX-License-Identifier: Apache-2.0
// SIGINT and SIGTERM as a call on an ordinary thread, for the programs.
//
//   const SignalBlock block;              // Before any other thread.
//   Server server(...);                   // May start threads.
//   const SignalWatcher signals(block, [&server](int) { server.stop(); });
#pragma once

#include <csignal>
#include <functional>
#include <thread>

namespace stretto {

/// Keeps SIGINT and SIGTERM from this thread and from all that it starts from now on. The kernel
/// gives a signal to any thread that does not block it, and there its default ends the process: so
/// this is the first thing that a program makes. Those that come wait for a watcher. Thread: any.
class SignalBlock {
 public:
  SignalBlock();
  const sigset_t& signals() const { return signals_; }

 private:
  sigset_t signals_{};
};

/// A file that may grow no further (ulimit -f) is an error of the call that writes to it from now
/// on, and does not end this process. Thread: the first.
void ignore_file_limit();

/// Thread: any.
class SignalWatcher {
 public:
  /// Each SIGINT and SIGTERM since they were blocked is a call of `on_signal(number)` on the
  /// watcher's thread. The kernel merges equal signals that are pending.
  SignalWatcher(const SignalBlock& block, std::function<void(int)> on_signal);
  ~SignalWatcher();
  SignalWatcher(const SignalWatcher&) = delete;
  SignalWatcher& operator=(const SignalWatcher&) = delete;

 private:
  void watch(const std::function<void(int)>& on_signal) const;

  int signal_fd_ = -1;
  int stop_fd_ = -1;
  std::jthread thread_;
};

}  // namespace stretto

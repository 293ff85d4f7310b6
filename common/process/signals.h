// SPDX-License-Identifier: Apache-2.0
// Delivers SIGINT and SIGTERM as calls on an ordinary thread, for the programs.
//
//   const SignalBlock block;              // Before any other thread.
//   Server server(...);                   // May start threads.
//   const SignalWatcher signals(block, [&server](int) { server.stop(); });
#pragma once

#include <csignal>
#include <functional>
#include <thread>

namespace stretto {

/// Blocks SIGINT and SIGTERM in this thread and all threads that it starts later. In any unblocked
/// thread the default action would end the process, so a program creates this first. Blocked
/// signals stay pending until a watcher exists. Thread: any.
class SignalBlock {
 public:
  SignalBlock();
  const sigset_t& signals() const { return signals_; }

 private:
  sigset_t signals_{};
};

/// From now on, a write beyond the file size limit (ulimit -f) returns an error and does not end
/// this process. Thread: the first.
void ignore_file_limit();

/// Thread: any.
class SignalWatcher {
 public:
  /// Calls `on_signal(number)` on the watcher's thread for each SIGINT and SIGTERM since they were
  /// blocked. The kernel merges equal signals that are pending.
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

// SPDX-License-Identifier: Apache-2.0
// SignalWatcher: SIGINT and SIGTERM as a call on an ordinary thread, for the programs.
#pragma once

#include <functional>
#include <thread>

namespace stretto {

/// Thread: any. Make it in main before any other thread: it blocks the signals for all of them.
class SignalWatcher {
 public:
  /// `on_signal(number)` runs once, on the watcher's thread, at the first SIGINT or SIGTERM.
  explicit SignalWatcher(std::function<void(int)> on_signal);
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

// SPDX-License-Identifier: Apache-2.0
// NoticeWatch: SIGTERM as a preemption notice: this process must end soon.
#pragma once

#include <chrono>
#include <optional>

namespace stretto {

/// While this lives, SIGTERM is a notice. A second SIGTERM at least a second later ends the process
/// as SIGTERM does by default, and so does `patience` without its end; both also while native code
/// runs. No effect where the program handles or ignores SIGTERM. A forked child gets the default.
/// Only one instance in a process is active; a later one has no effect.
/// Thread: one at a time.
class NoticeWatch {
 public:
  explicit NoticeWatch(std::chrono::milliseconds patience);
  /// Restores the default of SIGTERM, unless the program has set a handler meanwhile.
  ~NoticeWatch();
  NoticeWatch(const NoticeWatch&) = delete;
  NoticeWatch& operator=(const NoticeWatch&) = delete;

  /// Sets the handler again if SIGTERM has its default: Python code that sets its own handler
  /// restores the default later, since it knows no native handler. No effect after the notice.
  /// Thread: any, while no other thread sets handlers.
  void reinstall();

  /// How long ago the notice arrived; none before it. Thread: any.
  std::optional<std::chrono::nanoseconds> told_ago() const;

 private:
  bool watches_ = false;
};

}  // namespace stretto

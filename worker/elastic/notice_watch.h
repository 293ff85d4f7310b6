// SPDX-License-Identifier: Apache-2.0
// NoticeWatch: SIGTERM as a notice that this process must end soon.
#pragma once

#include <chrono>
#include <optional>

namespace stretto {

/// From its construction on SIGTERM is a notice. A second one a second later or more, or `patience`
/// without the end of the process, ends the process as SIGTERM does by default; native code hears
/// both. Changes nothing where the program handles or ignores SIGTERM. A child made by fork gets
/// the default. One at a time in a process, else the later one watches nothing. Thread: one at a
/// time.
class NoticeWatch {
 public:
  explicit NoticeWatch(std::chrono::milliseconds patience);
  /// SIGTERM ends the process again, unless the program has set a handler meanwhile.
  ~NoticeWatch();
  NoticeWatch(const NoticeWatch&) = delete;
  NoticeWatch& operator=(const NoticeWatch&) = delete;

  /// Sets the handler again where SIGTERM has its default: Python code that sets a handler of its
  /// own restores the default, as it knows of no native handler. Does nothing after the notice.
  /// Thread: any, while no other thread sets handlers.
  void reinstall();

  /// How long ago the notice came; none before it. Thread: any.
  std::optional<std::chrono::nanoseconds> told_ago() const;

 private:
  bool watches_ = false;
};

}  // namespace stretto

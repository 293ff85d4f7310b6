// SPDX-License-Identifier: Apache-2.0
// The launcher's own stdout or stderr, as a queue that never makes it wait: a reader that is slow
// or stopped must not keep it from seeing processes end.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace stretto::launch {

/// Thread: loop. Does not own its descriptor, and does not make it non-blocking: that would change
/// it for whoever shares it, such as the user's shell.
class OutputQueue {
 public:
  /// At this size the processes' output should be left in their pipes.
  static constexpr std::size_t kFullBytes = 1024 * 1024;

  explicit OutputQueue(int descriptor) : descriptor_(descriptor) {}

  int descriptor() const { return descriptor_; }
  bool full() const { return pending() >= kFullBytes; }
  bool drained() const { return pending() == 0; }

  void line(std::string_view prefix, std::string_view text);
  /// Writes what goes without waiting. A reader that is gone swallows the rest. A disk that is full
  /// swallows what is queued, and is tried again with the next line.
  void write();
  /// Why lines are being lost, as errno; 0: they are not, or that was asked before, or their reader
  /// is gone.
  int take_lack() { return std::exchange(lack_, 0); }
  /// Gives up on what is queued.
  void discard();

 private:
  void lose(int error);
  std::size_t pending() const { return queue_.size() - written_; }
  bool writable() const;

  const int descriptor_;
  std::string queue_;
  std::size_t written_ = 0;  // Of queue_.
  bool broken_ = false;
  bool losing_ = false;  // Since a write failed; none has gone since,
  bool torn_ = false;    // and what was written ends within a line.
  int lack_ = 0;
};

}  // namespace stretto::launch

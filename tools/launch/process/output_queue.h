// SPDX-License-Identifier: Apache-2.0
// The launcher's own stdout or stderr, as a queue that never blocks: a slow or stopped reader must
// not delay the supervision of processes.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace stretto::launch {

/// Thread: loop. Does not own its descriptor, and leaves it in blocking mode: the mode is shared
/// with other processes, such as the user's shell.
class OutputQueue {
 public:
  /// At this size callers should leave processes' output in their pipes.
  static constexpr std::size_t kFullBytes = 1024 * 1024;

  explicit OutputQueue(int descriptor) : descriptor_(descriptor) {}

  int descriptor() const { return descriptor_; }
  bool full() const { return pending() >= kFullBytes; }
  bool drained() const { return pending() == 0; }

  void line(std::string_view prefix, std::string_view text);
  /// Writes what the reader takes without blocking. If the reader is gone, the rest is dropped. If
  /// the disk is full, queued text is dropped, and the next line is tried again.
  void write();
  /// errno of lost lines, once per loss; 0: no line is lost, or the reader is gone.
  int take_lack() { return std::exchange(lack_, 0); }
  /// Drops what is queued.
  void discard();

 private:
  void lose(int error);
  std::size_t pending() const { return queue_.size() - written_; }
  bool writable() const;

  const int descriptor_;
  std::string queue_;
  std::size_t written_ = 0;  // Bytes of queue_.
  bool broken_ = false;
  bool losing_ = false;  // A write has failed, and none has succeeded since;
  bool torn_ = false;    // the text written so far ends within a line.
  int lack_ = 0;
};

}  // namespace stretto::launch

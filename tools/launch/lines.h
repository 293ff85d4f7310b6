// SPDX-License-Identifier: Apache-2.0
// Cuts a process's output, which comes in pieces of any size, into whole lines.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

namespace stretto::launch {

/// Thread: loop. Lines longer than kMaxLine are given in pieces of that size.
class LineSplitter {
 public:
  static constexpr std::size_t kMaxLine = 64 * 1024;

  /// Calls emit(line), without the line's end, for each line that is complete now.
  template <typename Emit>
  void feed(std::string_view bytes, Emit&& emit) {
    while (!bytes.empty()) {
      // Given late, so that a line of exactly this size is one piece.
      if (partial_.size() == kMaxLine && bytes.front() != '\n') finish(emit);
      const std::size_t end = bytes.find('\n');
      const std::size_t take = std::min({end, bytes.size(), kMaxLine - partial_.size()});
      const bool complete = take == end;
      if (complete && partial_.empty()) {
        emit(bytes.substr(0, take));
      } else {
        partial_.append(bytes.substr(0, take));
        if (complete) finish(emit);
      }
      bytes.remove_prefix(take + (complete ? 1 : 0));
    }
  }

  /// Calls emit(line) for what was begun and not ended, if anything.
  template <typename Emit>
  void finish(Emit&& emit) {
    if (partial_.empty()) return;
    emit(std::string_view(partial_));
    partial_.clear();
  }

 private:
  std::string partial_;
};

}  // namespace stretto::launch

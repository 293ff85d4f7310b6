// SPDX-License-Identifier: Apache-2.0
// Cuts a process's output, which comes in pieces of any size, into whole lines.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace stretto::launch {

/// Thread: loop. Lines longer than kMaxLine are given in pieces of that size. As on a terminal,
/// text that follows '\r' replaces the line so far, and "\r\n" ends a line.
class LineSplitter {
 public:
  static constexpr std::size_t kMaxLine = 64 * 1024;

  /// Calls emit(line), without the line's end, for each line that is complete now.
  template <typename Emit>
  void feed(std::string_view bytes, Emit&& emit) {
    while (!bytes.empty()) {
      const char next = bytes.front();
      if (returned_ && next != '\n' && next != '\r') replace_line();
      // Emitted late, so that a line of exactly this size is one piece.
      if (partial_.size() == kMaxLine && next != '\n' && next != '\r') end_line(emit);
      const std::size_t end = std::min(bytes.find_first_of("\r\n"), bytes.size());
      const std::size_t take = std::min(end, kMaxLine - partial_.size());
      const bool ends = take < bytes.size() && bytes[take] == '\n';
      const bool returns = take < bytes.size() && bytes[take] == '\r';
      if (ends && partial_.empty()) {
        emit(bytes.substr(0, take));
        begin_line();
      } else {
        append(bytes.substr(0, take));
        if (ends) end_line(emit);
      }
      returned_ = returns || (returned_ && take == 0 && !ends);
      const std::size_t used = take + (ends || returns ? 1 : 0);
      count_ += used;
      bytes.remove_prefix(used);
    }
  }

  /// Calls emit(line) for an incomplete last line, if any.
  template <typename Emit>
  void finish(Emit&& emit) {
    if (!partial_.empty()) end_line(emit);
  }

  /// True if the incomplete line has text that look() has not returned. Text that ends at a full
  /// block of the C library's buffer is cut within a line and does not count.
  bool has_news() const {
    return !partial_.empty() && !shown_ && (overwrites() || count_ % kBlock != 0);
  }

  /// Returns the text of the incomplete line; call it at regular intervals while has_news(). It
  /// returns a progress bar's text at each call, and other text, with " ..." added, once that has
  /// not grown since the call before. Empty: nothing new.
  std::string look() {
    if (!has_news()) return {};
    const bool grows = std::exchange(grown_, false);
    if (grows && !overwrites()) return {};
    shown_ = true;
    return overwrites() ? partial_ : partial_ + " ...";
  }

 private:
  static constexpr std::size_t kBlock = 4096;

  bool overwrites() const { return overwritten_ || returned_; }

  void append(std::string_view text) {
    if (text.empty()) return;
    partial_.append(text);
    shown_ = false;
    grown_ = true;
  }

  void begin_line() {
    partial_.clear();
    returned_ = overwritten_ = shown_ = grown_ = false;
  }

  template <typename Emit>
  void end_line(Emit&& emit) {
    emit(std::string_view(partial_));
    begin_line();
  }

  void replace_line() {
    begin_line();
    overwritten_ = true;
  }

  std::string partial_;
  bool returned_ = false;     // '\r' came last.
  bool overwritten_ = false;  // '\r' came earlier in this line.
  bool shown_ = false;        // look() has returned this text.
  bool grown_ = false;        // Since the last look().
  std::size_t count_ = 0;     // Of all input bytes.
};

}  // namespace stretto::launch

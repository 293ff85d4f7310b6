// SPDX-License-Identifier: Apache-2.0
// ReceiveProgress: whether a libzmq connection has received bytes that never become a message. ZMTP
// does not protect the lengths of messages, even with encryption: after a changed length, later
// bytes count as the rest of one message. And libzmq 4.3.4 may stop reading a connection where
// CURVE finds a changed message, instead of ending it.
#pragma once

#include <cstdint>
#include <optional>

namespace stretto::zmq {

/// The progress of one connection. Pure. Thread: loop.
class ReceiveProgress {
 public:
  void count_message() { ++messages_; }
  /// PathSample::begun_at, from the bytes that the kernel has received so far and those that libzmq
  /// has not read. After the handshake only messages are sent, so bytes after the last message
  /// belong to another.
  std::uint64_t begun_at(std::optional<std::uint64_t> received_bytes,
                         std::uint64_t unread_bytes = 0) {
    if (unread_bytes > 0) return messages_ + 1;
    if (!received_bytes) return 0;
    if (!looked_at_ || messages_ != looked_at_) {
      looked_at_ = messages_;
      bytes_ = *received_bytes;
    }
    return *received_bytes > bytes_ ? messages_ + 1 : 0;
  }

 private:
  std::uint64_t messages_ = 0;
  std::optional<std::uint64_t> looked_at_;  // Messages at the first check after the last.
  std::uint64_t bytes_ = 0;                 // At that time.
};

}  // namespace stretto::zmq

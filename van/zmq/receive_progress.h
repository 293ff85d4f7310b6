// SPDX-License-Identifier: Apache-2.0
// ReceiveProgress: whether bytes have come on a connection of libzmq's that it makes no message of.
// ZMTP does not protect the lengths of messages, also where it encrypts: behind a changed length,
// what comes later counts as the rest of one message. And libzmq 4.3.4 may stop reading a
// connection where CURVE finds a changed message, in place of ending it.
#pragma once

#include <cstdint>
#include <optional>

namespace stretto::zmq {

/// Of one connection. Pure. Thread: loop.
class ReceiveProgress {
 public:
  void count_message() { ++messages_; }
  /// PathSample::begun_at, by the bytes that the kernel has received so far, and those of them that
  /// libzmq has not read. Once a handshake has ended only messages travel, so bytes after the last
  /// message are of another.
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
  std::optional<std::uint64_t> looked_at_;  // The number of messages, at the first look after it.
  std::uint64_t bytes_ = 0;                 // By then.
};

}  // namespace stretto::zmq

// SPDX-License-Identifier: Apache-2.0
// ReceiveProgress: whether a message on a connection of libzmq's has come in part and its rest has
// not. ZMTP does not protect the lengths of messages, also where it encrypts: behind a changed
// length, what comes later counts as the rest of one message.
#pragma once

#include <cstdint>
#include <optional>

namespace stretto::zmq {

/// Of one connection. Pure. Thread: loop.
class ReceiveProgress {
 public:
  void count_message() { ++messages_; }
  /// PathSigns::begun_at, by the bytes that the kernel has received so far. Once a handshake has
  /// ended only messages travel, so bytes after the last message are of another.
  std::uint64_t begun_at(std::optional<std::uint64_t> received_bytes) {
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

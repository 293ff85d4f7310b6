// SPDX-License-Identifier: Apache-2.0
// OutputBuffer: the outgoing bytes of one connection until the kernel takes them.
#pragma once

#include <cstddef>
#include <deque>

#include "common/memory/buffer.h"
#include "van/transport/frame_batch.h"

namespace stretto::tcp {

/// Thread: loop.
class OutputBuffer {
 public:
  /// Adds bytes that are no message: the greeting.
  void add(std::span<const std::byte> bytes);
  /// Large payloads are lent until they have left or this object ends; small ones are copied.
  void add(const wire::Header& header, const Buffer& payload);
  /// Adds all of a batch, and empties it.
  void add(FrameBatch& batch);

  bool empty() const { return pieces_.empty(); }
  /// Messages not sent completely; a batch counts as one.
  std::size_t messages() const { return messages_; }
  /// Sends the bytes that the socket accepts without blocking. Returns 0 if no bytes remain, EAGAIN
  /// if bytes remain, or the errno that ended the connection.
  int write(int descriptor);
  /// Drops everything.
  void clear();

 private:
  struct Piece {
    Buffer bytes;
    bool ends_message = false;
  };
  void remove(std::size_t bytes);

  std::deque<Piece> pieces_;
  std::size_t gone_ = 0;  // Bytes of the first piece already sent.
  std::size_t messages_ = 0;
};

}  // namespace stretto::tcp

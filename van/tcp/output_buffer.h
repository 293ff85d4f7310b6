// SPDX-License-Identifier: Apache-2.0
// OutputBuffer: what waits to leave by one connection until the kernel takes it.
#pragma once

#include <cstddef>
#include <deque>

#include "common/memory/buffer.h"
#include "van/transport/frame_batch.h"

namespace stretto::tcp {

/// Thread: loop.
class OutputBuffer {
 public:
  /// Bytes that are no message: the greeting.
  void add(std::span<const std::byte> bytes);
  /// Large payloads are lent until they have left, or this ends; small ones are copied.
  void add(const wire::Header& header, const Buffer& payload);
  /// All of a batch, which is empty then.
  void add(FrameBatch& batch);

  bool empty() const { return pieces_.empty(); }
  /// Messages of which something is left; a batch is one.
  std::size_t messages() const { return messages_; }
  /// Submits what the socket takes now: 0, EAGAIN if it took not all of it, or why the
  /// connection has ended.
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
  std::size_t gone_ = 0;  // Bytes of the first piece that have left.
  std::size_t messages_ = 0;
};

}  // namespace stretto::tcp

// SPDX-License-Identifier: Apache-2.0
// Outlet: what waits to leave by one connection, as ZMTP has it, until the kernel takes it.
#pragma once

#include <cstddef>
#include <deque>

#include "common/buffer.h"
#include "van/tcp/batch.h"
#include "van/tcp/curve_channel.h"

namespace stretto::tcp {

/// Thread: loop.
class Outlet {
 public:
  /// `encrypts`: messages leave sealed, and not before seal_by().
  explicit Outlet(bool encrypts = false) : encrypts_(encrypts) {}
  /// Seals parts of messages as they leave; it outlives this.
  void seal_by(CurveSealer* sealer) { sealer_ = sealer; }

  /// Bytes that are no message: of the handshake.
  void add(std::span<const std::byte> bytes);
  /// Large payloads are lent until they have left, or this ends; small ones are copied.
  void add(const wire::Header& header, const Buffer& payload);
  /// All of a batch, which is empty then.
  void add(MessageBatch& batch);

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
  void add_unsealed(const wire::Header& header, const Buffer& payload);
  void seal();
  void left(std::size_t bytes);

  const bool encrypts_;
  CurveSealer* sealer_ = nullptr;
  std::deque<Piece> pieces_;      // Where it encrypts, one for each part.
  std::size_t sealed_ = 0;        // The first so many are sealed,
  std::size_t sealed_bytes_ = 0;  // and have so many bytes.
  std::size_t gone_ = 0;          // Bytes of the first piece that have left.
  std::size_t messages_ = 0;
};

}  // namespace stretto::tcp

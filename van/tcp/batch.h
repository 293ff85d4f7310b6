// SPDX-License-Identifier: Apache-2.0
// MessageBatch: small frames of one link that leave as one message. The kernel does about
// as much for a message of 200 bytes as for one of 20 KB, so frames that are submitted in one
// turn of the loop travel together: all headers, then the length of each payload, 4 bytes each,
// then the payloads.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "common/buffer.h"
#include "van/tcp/frame_format.h"

namespace stretto::tcp {

/// Frames that have been taken and not yet submitted. Thread: loop.
class MessageBatch {
 public:
  /// Towards this host a batch may be larger: nobody else's frames wait for it.
  explicit MessageBatch(bool local) : most_bytes_(local ? kMostBatchBytes : kMostBatchBytes / 4) {}

  /// True for frames that may wait for others. They leave at the next poll at the latest.
  static bool takes(const Buffer& payload) { return payload.size() < kLeastAlone; }
  void add(const wire::Header& header, const Buffer& payload);
  bool empty() const { return frames_.empty(); }
  /// It should leave now.
  bool full() const { return bytes_ >= most_bytes_ || frames_.size() == kMostBatched; }
  struct Waiting {
    wire::Header header;
    Buffer payload;
  };
  const std::vector<Waiting>& frames() const { return frames_; }
  /// Of the message, after its head.
  std::size_t headers_bytes() const { return frames_.size() * wire::kHeaderBytes; }
  std::size_t payloads_bytes() const {
    return frames_.size() * kLengthBytes + bytes_ - headers_bytes();
  }
  void write_headers(std::span<std::byte> at) const;
  void write_payloads(std::span<std::byte> at) const;
  void clear();

 private:
  static constexpr std::size_t kLeastAlone = kLeastTaken;

  std::size_t most_bytes_;
  std::size_t bytes_ = 0;
  std::vector<Waiting> frames_;
};

/// The frames of a message that came, which is a batch or one frame. Thread: loop.
class Unpacked {
 public:
  /// `whole`: makes a Buffer of the payload where the message is one frame.
  Unpacked(std::span<const std::byte> headers, std::span<const std::byte> payloads,
           std::function<Buffer()> whole);
  /// The next frame: its header, which lives as long as the message, and its payload. False: no
  /// more.
  bool next(wire::HeaderView& header, Buffer& payload);

 private:
  std::span<const std::byte> headers_;
  std::span<const std::byte> payloads_;
  std::function<Buffer()> whole_;
  std::size_t count_;
  std::size_t taken_ = 0;
  std::size_t offset_;  // Of the next payload of a batch.
};

}  // namespace stretto::tcp

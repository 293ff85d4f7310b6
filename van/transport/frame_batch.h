// SPDX-License-Identifier: Apache-2.0
// FrameBatch: small frames of one link sent as one message. A message of 200 bytes costs the kernel
// about as much as one of 20 KB. So the frames of one loop iteration leave together: all headers,
// then the lengths of the payloads, 4 bytes each, then the payloads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "common/memory/buffer.h"
#include "van/wire/header.h"

namespace stretto {

/// Smaller payloads are batched, and copied out of the memory into which they were received.
inline constexpr std::size_t kLeastAlone = 8192;

/// Limits of one message: its frames, and the bytes of its payloads with their lengths.
inline constexpr std::size_t kMostBatched = 256;
inline constexpr std::size_t kMostBatchBytes = 64 << 10;
inline constexpr std::size_t kMostBatchPart =
    kMostBatchBytes + kLeastAlone + kMostBatched * sizeof(std::uint32_t);

/// True if headers and payloads of a message are one frame, or a batch, and no payload exceeds the
/// limit. A peer can send other lengths than it announced; that is the only check.
bool is_frame_or_batch(std::span<const std::byte> headers, std::span<const std::byte> payloads,
                       std::size_t max_payload_bytes);

/// Accepted frames that have not been submitted yet. Thread: loop.
class FrameBatch {
 public:
  struct Frame {
    wire::Header header;
    Buffer payload;
  };

  /// A batch to this host may be larger: no other host's frames wait for it.
  explicit FrameBatch(bool local) : most_bytes_(local ? kMostBatchBytes : kMostBatchBytes / 4) {}

  /// True for frames that may wait for others, until the next poll at most.
  static bool takes(const Buffer& payload) { return payload.size() < kLeastAlone; }
  void add(const wire::Header& header, const Buffer& payload);
  bool empty() const { return frames_.empty(); }
  /// The batch should leave now.
  bool full() const { return bytes_ >= most_bytes_ || frames_.size() == kMostBatched; }
  const std::vector<Frame>& frames() const { return frames_; }
  /// The sizes and contents of the message that the frames make.
  std::size_t headers_bytes() const { return frames_.size() * wire::kHeaderBytes; }
  std::size_t payloads_bytes() const;
  void write_headers(std::span<std::byte> at) const;
  void write_payloads(std::span<std::byte> at) const;
  void clear();

 private:
  std::size_t most_bytes_;
  std::size_t bytes_ = 0;
  std::vector<Frame> frames_;
};

/// The frames of a received message that is_frame_or_batch() has checked. Thread: loop.
class UnpackedFrames {
 public:
  /// `whole`: makes a Buffer of the payload if the message is one frame.
  UnpackedFrames(std::span<const std::byte> headers, std::span<const std::byte> payloads,
                 std::function<Buffer()> whole);
  /// The next frame: its header, valid as long as the message, and its payload. False at the end.
  bool next(wire::HeaderView& header, Buffer& payload);

 private:
  std::span<const std::byte> headers_;
  std::span<const std::byte> payloads_;
  std::function<Buffer()> whole_;
  std::size_t count_;
  std::size_t taken_ = 0;
  std::size_t offset_;  // Of the next payload of a batch.
};

}  // namespace stretto

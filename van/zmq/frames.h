// SPDX-License-Identifier: Apache-2.0
// Frames as libzmq messages: a part of 128 header bytes, then a part of payload, which may be empty
// but is always there.
//
// Where the first part is several headers, the second holds the payloads of as many frames
// (batch.h).
//
// A message of one empty part is no frame. As the first from an end that connects it is a hello
// (ZMQ_PROBE_ROUTER); from the end that listens it is a goodbye. Anything else is malformed.
#pragma once

#include <algorithm>
#include <cstring>

#include "van/transport.h"
#include "van/zmq/handles.h"

namespace stretto::zmq {

enum class Shape : std::uint8_t {
  kNothing,    ///< Nothing has come, and all that libzmq had to tell the socket has been heard.
  kFrame,      ///< Header and payload are in place, of one frame or of a batch.
  kEmpty,      ///< A hello or a goodbye.
  kMalformed,  ///< Any other message; what there was of it is not to be used.
  kRemains     ///< Parts of a malformed message that no frame has were thrown away; go on later.
};

/// What one message held. Thread: loop.
struct Incoming {
  LibzmqMessage header;
  LibzmqMessage payload;

  std::size_t frames() { return header.bytes().size() / wire::kHeaderBytes; }
};

/// Frames of one message, at most, and bytes of its payloads with their lengths.
inline constexpr std::size_t kMostBatched = 256;
inline constexpr std::size_t kMostBatchBytes = 64 << 10;
inline constexpr std::size_t kMostBatchPart =
    kMostBatchBytes + kLeastTaken + kMostBatched * sizeof(std::uint32_t);

/// What ZMQ_MAXMSGSIZE must let through.
inline std::size_t most_part_bytes(std::size_t max_payload_bytes) {
  return std::max(max_payload_bytes, kMostBatchPart);
}

// Of the lengths at the start of a batch's second part.
inline constexpr std::size_t kLengthBytes = sizeof(std::uint32_t);
inline std::size_t length_in(std::span<const std::byte> payloads, std::size_t index) {
  std::uint32_t length = 0;
  std::memcpy(&length, payloads.data() + index * kLengthBytes, kLengthBytes);
  return length;
}

/// True if the two parts of a message are one frame, or a batch, with no payload larger than this.
bool fits(std::span<const std::byte> headers, std::span<const std::byte> payloads,
          std::size_t max_payload_bytes);

/// What comes over a libzmq socket. Thread: loop.
class FrameReader {
 public:
  explicit FrameReader(std::size_t max_payload_bytes) : max_payload_bytes_(max_payload_bytes) {}

  /// Reads one message. A message with too many parts costs a bounded time per call.
  Shape next(Socket& socket, Incoming& in);

 private:
  void discard(Socket& socket, LibzmqMessage& scratch);

  std::size_t max_payload_bytes_;
  bool discarding_ = false;
};

/// Sends header and payload; 0 or errno. If the header was taken and the payload was not, the
/// connection has just ended, and that is EHOSTUNREACH.
int send_frame(Socket& socket, const wire::Header& header, const Buffer& payload);

}  // namespace stretto::zmq

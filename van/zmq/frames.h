// SPDX-License-Identifier: Apache-2.0
// Frames as libzmq messages: a part of 128 header bytes, then a part of payload, which may be empty
// but is always there. Where the first part is several headers, the second holds the payloads of as
// many frames: the length of each, 4 bytes, then the payloads. Small frames of one turn of the loop
// travel so, since a message of 200 bytes costs libzmq and the kernel about as much as one of 20
// KB.
//
// A message of one empty part is no frame. As the first from an end that connects it is a hello
// (ZMQ_PROBE_ROUTER); from the end that listens it is a goodbye. Any other message is malformed.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "van/transport.h"
#include "van/zmq/handles.h"

namespace stretto::zmq {

/// Frames of one message, at most, and bytes of its payloads with their lengths.
inline constexpr std::size_t kMostBatched = 256;
inline constexpr std::size_t kMostBatchBytes = 64 << 10;
inline constexpr std::size_t kMostBatchPart =
    kMostBatchBytes + kLeastTaken + kMostBatched * sizeof(std::uint32_t);

/// What ZMQ_MAXMSGSIZE must let through: libzmq counts the 33 bytes that CURVE adds.
inline std::size_t most_part_bytes(std::size_t max_payload_bytes) {
  constexpr std::size_t kOfCurve = 64;
  return std::max(max_payload_bytes, kMostBatchPart) + kOfCurve;
}

enum class Shape : std::uint8_t {
  kNothing,    ///< Nothing has come, and all that libzmq had to tell the socket has been heard.
  kFrame,      ///< Header and payload are in place, of one frame or of a batch.
  kEmpty,      ///< A hello or a goodbye.
  kMalformed,  ///< Any other message; what there was of it must not be used.
  kRemains     ///< Parts of a malformed message were thrown away; go on later.
};

/// What one message held. Thread: loop.
struct ReceivedMessage {
  MessagePart id;  ///< Of a ROUTER's: who sent it.
  MessagePart header;
  MessagePart payload;

  std::size_t frames() { return header.bytes().size() / wire::kHeaderBytes; }
};

/// What comes over a libzmq socket. Thread: loop.
class MessageReader {
 public:
  /// `routed`: by a ROUTER, whose messages begin with an id.
  MessageReader(bool routed, std::size_t max_payload_bytes)
      : routed_(routed), max_payload_bytes_(max_payload_bytes) {}

  /// Reads one message. A message with too many parts costs a bounded time for a call.
  Shape next(ZmqSocket& socket, ReceivedMessage& in);

 private:
  void discard(ZmqSocket& socket, MessagePart& scratch);

  bool routed_;
  std::size_t max_payload_bytes_;
  bool discarding_ = false;
};

/// The frames of a message that came. What comes has been checked by MessageReader. Thread: loop.
class MessageFrames {
 public:
  explicit MessageFrames(ReceivedMessage& in);
  /// The next frame: its header, which lives as long as the message, and its payload. False: no
  /// more.
  bool next(wire::HeaderView& header, Buffer& payload);

 private:
  ReceivedMessage& in_;
  std::size_t count_;
  std::size_t taken_ = 0;
  std::size_t offset_;  // Of the next payload of a batch.
};

/// Sends header and payload, by a ROUTER to the peer of this id, which is empty for others; 0 or
/// errno. If the first part was taken and another was not, the connection has just ended, and that
/// is EHOSTUNREACH.
int send_frame(ZmqSocket& socket, std::string_view id, const wire::Header& header,
               const Buffer& payload);

/// Small frames that have been taken and not yet submitted to libzmq. Thread: loop.
class FrameBatch {
 public:
  /// Towards this host a batch may be larger: no other host's frames wait for it.
  explicit FrameBatch(bool local) : most_bytes_(local ? kMostBatchBytes : kMostBatchBytes / 4) {}

  /// True for frames that may wait for others. They leave at the next poll at the latest.
  static bool takes(const Buffer& payload) { return payload.size() < kLeastTaken; }
  void add(const wire::Header& header, const Buffer& payload);
  bool empty() const { return frames_.empty(); }
  /// It should leave now.
  bool full() const { return bytes_ >= most_bytes_ || frames_.size() == kMostBatched; }
  /// As send_frame(). Unless it answers 0, the frames are still here.
  int send(ZmqSocket& socket, std::string_view id);

 private:
  struct Waiting {
    wire::Header header;
    Buffer payload;
  };

  MessagePart headers() const;
  MessagePart payloads() const;

  std::size_t most_bytes_;
  std::size_t bytes_ = 0;
  std::vector<Waiting> frames_;
};

}  // namespace stretto::zmq

// SPDX-License-Identifier: Apache-2.0
// Frames as libzmq messages: a part of 128 header bytes, then a part of payload, which may be empty
// but is always there. Where the first part is several headers, the second holds the payloads of as
// many frames, as van/transport/frame_batch.h writes them.
//
// A message of one empty part is no frame. As the first from an end that connects it is a hello
// (ZMQ_PROBE_ROUTER); from the end that listens it is a goodbye. A message of one part of one byte
// is a keep-alive. Any other message is malformed.
#pragma once

#include <algorithm>
#include <span>
#include <string_view>

#include "van/transport/frame_batch.h"
#include "van/transport/transport.h"
#include "van/zmq/handles.h"

namespace stretto::zmq {

/// What ZMQ_MAXMSGSIZE must let through: libzmq counts the 33 bytes that CURVE adds.
inline std::size_t most_part_bytes(std::size_t max_payload_bytes) {
  constexpr std::size_t kOfCurve = 64;
  return std::max(max_payload_bytes, kMostBatchPart) + kOfCurve;
}

enum class Shape : std::uint8_t {
  kNothing,    ///< Nothing has come, and all that libzmq had to tell the socket has been heard.
  kFrame,      ///< Header and payload are in place, of one frame or of a batch.
  kEmpty,      ///< A hello or a goodbye.
  kKeepAlive,  ///< Nothing but a sign that what came before it has come whole.
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

/// The frames of what MessageReader let through. Thread: loop.
UnpackedFrames frames_of(ReceivedMessage& in);

/// Sends header and payload, by a ROUTER to the peer of this id, which is empty for others; 0 or
/// errno. If the first part was taken and another was not, the connection has just ended, and that
/// is EHOSTUNREACH.
int send_frame(ZmqSocket& socket, std::string_view id, const wire::Header& header,
               const Buffer& payload);

/// As send_frame().
int send_keep_alive(ZmqSocket& socket, std::string_view id);

/// As send_frame() for all frames of a batch. Unless it answers 0, they are still there.
int send_batch(ZmqSocket& socket, std::string_view id, FrameBatch& batch);

}  // namespace stretto::zmq

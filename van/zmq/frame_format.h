// SPDX-License-Identifier: Apache-2.0
// Frames as libzmq messages: a part of 128 header bytes, then a part of payload, which may be empty
// but always exists. If the first part is several headers, the second holds the payloads of that
// many frames, as van/transport/frame_batch.h writes them.
//
// A message of one empty part is no frame. As the first message of a connecting end it is a hello
// (ZMQ_PROBE_ROUTER); from the listening end it is a goodbye. A message of one part of one byte is
// a keep-alive. Any other message is malformed.
#pragma once

#include <algorithm>
#include <span>
#include <string_view>

#include "van/transport/frame_batch.h"
#include "van/transport/transport.h"
#include "van/zmq/handles.h"

namespace stretto::zmq {

/// The value of ZMQ_MAXMSGSIZE: libzmq counts the 33 bytes that CURVE adds.
inline std::size_t most_part_bytes(std::size_t max_payload_bytes) {
  constexpr std::size_t kOfCurve = 64;
  return std::max(max_payload_bytes, kMostBatchPart) + kOfCurve;
}

enum class Shape : std::uint8_t {
  kNothing,    ///< No message, and libzmq has processed all commands for the socket.
  kFrame,      ///< Header and payload are in place, of one frame or of a batch.
  kEmpty,      ///< A hello or a goodbye.
  kKeepAlive,  ///< Only shows that earlier messages have arrived completely.
  kMalformed,  ///< Any other message; its parts must not be used.
  kRemains     ///< Parts of a malformed message were discarded; call again later.
};

/// The parts of one message. Thread: loop.
struct ReceivedMessage {
  MessagePart id;  ///< From a ROUTER: the sender.
  MessagePart header;
  MessagePart payload;

  std::size_t frames() { return header.bytes().size() / wire::kHeaderBytes; }
};

/// Reads messages from a libzmq socket. Thread: loop.
class MessageReader {
 public:
  /// `routed`: from a ROUTER, whose messages begin with an id.
  MessageReader(bool routed, std::size_t max_payload_bytes)
      : routed_(routed), max_payload_bytes_(max_payload_bytes) {}

  /// Reads one message. A call takes a bounded time even for a message with too many parts.
  Shape next(ZmqSocket& socket, ReceivedMessage& in);

 private:
  void discard(ZmqSocket& socket, MessagePart& scratch);

  bool routed_;
  std::size_t max_payload_bytes_;
  bool discarding_ = false;
};

/// The frames of a message that MessageReader accepted. Thread: loop.
UnpackedFrames frames_of(ReceivedMessage& in);

/// Sends header and payload; a ROUTER sends to the peer of this id, which is empty for other
/// sockets. Returns 0 or errno. If only the first part was taken, the connection has just ended:
/// EHOSTUNREACH.
int send_frame(ZmqSocket& socket, std::string_view id, const wire::Header& header,
               const Buffer& payload);

/// As send_frame().
int send_keep_alive(ZmqSocket& socket, std::string_view id);

/// As send_frame() for all frames of a batch. The batch keeps them unless it returns 0.
int send_batch(ZmqSocket& socket, std::string_view id, FrameBatch& batch);

}  // namespace stretto::zmq

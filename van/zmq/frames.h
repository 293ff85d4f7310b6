// SPDX-License-Identifier: Apache-2.0
// Frames as libzmq messages: a part of 128 header bytes, then a part of payload, which may be empty
// but is always there. What comes over a ROUTER has the sender's routing id before them.
//
// A message of one empty part is no frame. As the first from an end that connects it is a hello
// (ZMQ_PROBE_ROUTER); from the end that listens it is a goodbye. Anything else is malformed.
#pragma once

#include "van/transport.h"
#include "van/zmq/handles.h"

namespace stretto::zmq {

enum class Shape : std::uint8_t {
  kNothing,    ///< Nothing has come, and all that libzmq had to tell the socket has been heard.
  kFrame,      ///< Header and payload are in place.
  kEmpty,      ///< A hello or a goodbye.
  kMalformed,  ///< Any other message; what there was of it is not to be used.
  kRemains     ///< Parts of a malformed message that no frame has were thrown away; go on later.
};

/// What one message held. Thread: loop.
struct Incoming {
  Message id;  ///< Only from a ROUTER.
  Message header;
  Message payload;

  wire::HeaderView header_view() {
    return wire::HeaderView(header.bytes().data(), wire::kHeaderBytes);
  }
};

/// Thread: loop.
class FrameReader {
 public:
  FrameReader(bool has_id, std::size_t max_payload_bytes)
      : has_id_(has_id), max_payload_bytes_(max_payload_bytes) {}

  /// Reads one message. A message with too many parts costs a bounded time per call.
  Shape next(Socket& socket, Incoming& in);

 private:
  void discard(Socket& socket, Message& scratch);

  bool has_id_;
  std::size_t max_payload_bytes_;
  bool discarding_ = false;
};

/// Sends header and payload; 0 or errno. If the header was taken and the payload was not, the
/// connection has just ended, and that is EHOSTUNREACH.
int send_frame(Socket& socket, const wire::Header& header, const Buffer& payload);

}  // namespace stretto::zmq

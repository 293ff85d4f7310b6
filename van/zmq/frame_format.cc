// SPDX-License-Identifier: Apache-2.0
// libzmq delivers whole messages: after the first part, the other parts can be received. A peer can
// send a wrong number of parts or wrong sizes, and only that is checked here.
#include "van/zmq/frame_format.h"

#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

namespace stretto::zmq {
namespace {

constexpr int kDiscardedAtOnce = 256;
constexpr std::size_t kKeepAliveBytes = 1;
// The caller allocates both parts first: an allocation failure must not leave half a message.
int send_parts(ZmqSocket& socket, std::string_view id, MessagePart first, MessagePart second) {
  if (!id.empty()) {
    if (const int error = socket.send(id, true); error != 0) return error;
  }
  if (const int error = socket.send(std::move(first), true); error != 0) {
    return id.empty() ? error : EHOSTUNREACH;
  }
  return socket.send(std::move(second), false) == 0 ? 0 : EHOSTUNREACH;
}

}  // namespace

Shape MessageReader::next(ZmqSocket& socket, ReceivedMessage& in) {
  if (discarding_) {
    discard(socket, in.payload);
    return Shape::kRemains;
  }
  if (routed_) {
    if (!socket.receive(in.id)) return Shape::kNothing;
    if (!in.id.more()) return Shape::kMalformed;
    STRETTO_CHECK(socket.receive(in.header));
  } else if (!socket.receive(in.header)) {
    return Shape::kNothing;
  }
  if (!in.header.more()) {
    switch (in.header.bytes().size()) {
      case 0:
        return Shape::kEmpty;
      case kKeepAliveBytes:
        return Shape::kKeepAlive;
      default:
        return Shape::kMalformed;
    }
  }
  STRETTO_CHECK(socket.receive(in.payload));
  if (in.payload.more()) {
    discarding_ = true;
    discard(socket, in.payload);
    return Shape::kMalformed;
  }
  const bool whole = is_frame_or_batch(in.header.bytes(), in.payload.bytes(), max_payload_bytes_);
  return whole ? Shape::kFrame : Shape::kMalformed;
}

void MessageReader::discard(ZmqSocket& socket, MessagePart& scratch) {
  for (int i = 0; i < kDiscardedAtOnce && discarding_; ++i) {
    STRETTO_CHECK(socket.receive(scratch));
    discarding_ = scratch.more();
  }
}

UnpackedFrames frames_of(ReceivedMessage& in) {
  return {in.header.bytes(), in.payload.bytes(),
          [&in] { return MessagePart::take(std::move(in.payload)); }};
}

int send_frame(ZmqSocket& socket, std::string_view id, const wire::Header& header,
               const Buffer& payload) {
  MessagePart first(wire::kHeaderBytes);
  std::memcpy(first.bytes().data(), &header, wire::kHeaderBytes);
  return send_parts(socket, id, std::move(first), MessagePart::lend(payload));
}

int send_keep_alive(ZmqSocket& socket, std::string_view id) {
  if (!id.empty()) {
    if (const int error = socket.send(id, true); error != 0) return error;
  }
  return socket.send(std::string_view("k", kKeepAliveBytes), false) == 0 ? 0 : EHOSTUNREACH;
}

int send_batch(ZmqSocket& socket, std::string_view id, FrameBatch& batch) {
  const std::vector<FrameBatch::Frame>& frames = batch.frames();
  int error = 0;
  if (frames.size() == 1) {
    error = send_frame(socket, id, frames.front().header, frames.front().payload);
  } else {
    MessagePart headers(batch.headers_bytes());
    MessagePart payloads(batch.payloads_bytes());
    batch.write_headers(headers.bytes());
    batch.write_payloads(payloads.bytes());
    error = send_parts(socket, id, std::move(headers), std::move(payloads));
  }
  if (error == 0) batch.clear();
  return error;
}

}  // namespace stretto::zmq

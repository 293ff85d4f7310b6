// SPDX-License-Identifier: Apache-2.0
// libzmq delivers whole messages, so once a first part is there the others are too; what a peer
// can do is send another number of parts or other sizes, and that is all that is checked here.
#include "van/zmq/frames.h"

#include <cerrno>

namespace stretto::zmq {
namespace {

constexpr int kDiscardedAtOnce = 256;

}  // namespace

Shape FrameReader::next(Socket& socket, Incoming& in) {
  if (discarding_) {
    discard(socket, in.payload);
    return Shape::kRemains;
  }
  if (!socket.receive(in.header)) return Shape::kNothing;
  if (!in.header.more()) {
    return in.header.bytes().empty() ? Shape::kEmpty : Shape::kMalformed;
  }
  STRETTO_CHECK(socket.receive(in.payload));
  if (in.payload.more()) {
    discarding_ = true;
    discard(socket, in.payload);
    return Shape::kMalformed;
  }
  const bool whole = fits(in.header.bytes(), in.payload.bytes(), max_payload_bytes_);
  return whole ? Shape::kFrame : Shape::kMalformed;
}

bool fits(std::span<const std::byte> headers, std::span<const std::byte> payloads,
          std::size_t max_payload_bytes) {
  const std::size_t count = headers.size() / wire::kHeaderBytes;
  if (count == 0 || count > kMostBatched) return false;
  if (headers.size() != count * wire::kHeaderBytes) return false;
  if (count == 1) return payloads.size() <= max_payload_bytes;
  if (payloads.size() < count * kLengthBytes || payloads.size() > kMostBatchPart) return false;
  std::size_t sum = count * kLengthBytes;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t length = length_in(payloads, i);
    if (length > max_payload_bytes) return false;
    sum += length;
  }
  return sum == payloads.size();
}

void FrameReader::discard(Socket& socket, LibzmqMessage& scratch) {
  for (int i = 0; i < kDiscardedAtOnce && discarding_; ++i) {
    STRETTO_CHECK(socket.receive(scratch));
    discarding_ = scratch.more();
  }
}

int send_frame(Socket& socket, const wire::Header& header, const Buffer& payload) {
  const wire::HeaderBytes bytes = wire::encode(header);
  if (const int error = socket.send(bytes, true); error != 0) return error;
  return socket.send(LibzmqMessage::lend(payload), false) == 0 ? 0 : EHOSTUNREACH;
}

}  // namespace stretto::zmq

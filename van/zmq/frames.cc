// SPDX-License-Identifier: Apache-2.0
// libzmq delivers whole messages, so once a first part is there the others are too. A peer can send
// another number of parts or other sizes, and only that is checked here.
#include "van/zmq/frames.h"

#include <cerrno>
#include <cstring>

namespace stretto::zmq {
namespace {

constexpr int kDiscardedAtOnce = 256;
constexpr std::size_t kLengthBytes = sizeof(std::uint32_t);

std::size_t length_in(std::span<const std::byte> payloads, std::size_t index) {
  std::uint32_t length = 0;
  std::memcpy(&length, payloads.data() + index * kLengthBytes, kLengthBytes);
  return length;
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

// Both parts are there: memory that runs out must not leave half of a message in the socket.
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

void MessageReader::discard(ZmqSocket& socket, MessagePart& scratch) {
  for (int i = 0; i < kDiscardedAtOnce && discarding_; ++i) {
    STRETTO_CHECK(socket.receive(scratch));
    discarding_ = scratch.more();
  }
}

MessageFrames::MessageFrames(ReceivedMessage& in)
    : in_(in), count_(in.frames()), offset_(count_ * kLengthBytes) {}

bool MessageFrames::next(wire::HeaderView& header, Buffer& payload) {
  if (taken_ == count_) return false;
  header =
      wire::HeaderView(in_.header.bytes().data() + taken_ * wire::kHeaderBytes, wire::kHeaderBytes);
  if (count_ == 1) {
    payload = MessagePart::take(std::move(in_.payload));
  } else {
    const std::span<const std::byte> bytes = in_.payload.bytes();
    const std::size_t length = length_in(bytes, taken_);
    payload = length == 0 ? Buffer() : Buffer::copy_of(bytes.subspan(offset_, length));
    offset_ += length;
  }
  ++taken_;
  return true;
}

int send_frame(ZmqSocket& socket, std::string_view id, const wire::Header& header,
               const Buffer& payload) {
  MessagePart first(wire::kHeaderBytes);
  std::memcpy(first.bytes().data(), &header, wire::kHeaderBytes);
  return send_parts(socket, id, std::move(first), MessagePart::lend(payload));
}

void FrameBatch::add(const wire::Header& header, const Buffer& payload) {
  frames_.push_back({header, payload});
  bytes_ += wire::kHeaderBytes + payload.size();
}

int FrameBatch::send(ZmqSocket& socket, std::string_view id) {
  const int error = frames_.size() == 1
                        ? send_frame(socket, id, frames_.front().header, frames_.front().payload)
                        : send_parts(socket, id, headers(), payloads());
  if (error != 0) return error;
  frames_.clear();
  bytes_ = 0;
  return 0;
}

MessagePart FrameBatch::headers() const {
  MessagePart part(frames_.size() * wire::kHeaderBytes);
  std::byte* at = part.bytes().data();
  for (const Waiting& frame : frames_) {
    std::memcpy(at, &frame.header, wire::kHeaderBytes);
    at += wire::kHeaderBytes;
  }
  return part;
}

MessagePart FrameBatch::payloads() const {
  const std::size_t lengths = frames_.size() * kLengthBytes;
  MessagePart part(lengths + bytes_ - frames_.size() * wire::kHeaderBytes);
  std::byte* length_at = part.bytes().data();
  std::byte* at = length_at + lengths;
  for (const Waiting& frame : frames_) {
    const auto length = static_cast<std::uint32_t>(frame.payload.size());
    std::memcpy(length_at, &length, kLengthBytes);
    length_at += kLengthBytes;
    if (length != 0) std::memcpy(at, frame.payload.data(), length);
    at += length;
  }
  return part;
}

}  // namespace stretto::zmq

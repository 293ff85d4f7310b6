// SPDX-License-Identifier: Apache-2.0
// Putting frames together and taking them apart. What comes has been checked by FrameReader.
#include "van/zmq/batch.h"

#include <cerrno>
#include <cstring>

namespace stretto::zmq {

void Batch::add(const wire::Header& header, const Buffer& payload) {
  frames_.push_back({header, payload});
  bytes_ += wire::kHeaderBytes + payload.size();
}

int Batch::send(Socket& socket) {
  int error = 0;
  if (frames_.size() == 1) {
    error = send_frame(socket, frames_.front().header, frames_.front().payload);
  } else {
    Message headers(frames_.size() * wire::kHeaderBytes);
    std::size_t payload_bytes = 0;
    std::byte* at = headers.bytes().data();
    for (const Waiting& frame : frames_) {
      std::memcpy(at, &frame.header, wire::kHeaderBytes);
      at += wire::kHeaderBytes;
      payload_bytes += frame.payload.size();
    }
    Message payloads(frames_.size() * kLengthBytes + payload_bytes);
    std::byte* length_at = payloads.bytes().data();
    at = length_at + frames_.size() * kLengthBytes;
    for (const Waiting& frame : frames_) {
      const auto length = static_cast<std::uint32_t>(frame.payload.size());
      std::memcpy(length_at, &length, kLengthBytes);
      length_at += kLengthBytes;
      if (length != 0) std::memcpy(at, frame.payload.data(), length);
      at += length;
    }
    error = socket.send(std::move(headers), true);
    if (error == 0 && socket.send(std::move(payloads), false) != 0) error = EHOSTUNREACH;
  }
  if (error != 0) return error;
  frames_.clear();
  bytes_ = 0;
  return 0;
}

Unpacked::Unpacked(Incoming& in) : in_(in), count_(in.frames()), offset_(count_ * kLengthBytes) {}

bool Unpacked::next(wire::HeaderView& header, Buffer& payload) {
  if (taken_ == count_) return false;
  header =
      wire::HeaderView(in_.header.bytes().data() + taken_ * wire::kHeaderBytes, wire::kHeaderBytes);
  if (count_ == 1) {
    payload = Message::take(std::move(in_.payload));
  } else {
    const std::span<const std::byte> bytes = in_.payload.bytes();
    const std::size_t length = length_in(bytes, taken_);
    payload = length == 0 ? Buffer() : Buffer::copy_of(bytes.subspan(offset_, length));
    offset_ += length;
  }
  ++taken_;
  return true;
}

}  // namespace stretto::zmq

// SPDX-License-Identifier: Apache-2.0
// Adds a head to each message, and sends many pieces by one call.
#include "van/tcp/output_buffer.h"

#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "common/check.h"
#include "van/tcp/frame_format.h"

namespace stretto::tcp {
namespace {

constexpr std::size_t kMostPieces = 64;      // Sent by one call.
constexpr std::size_t kLeastInPlace = 4096;  // Smaller payloads are copied.

MessageHead head_of(std::size_t frames, std::size_t payload_bytes) {
  return {.frames = static_cast<std::uint32_t>(frames),
          .payload_bytes = static_cast<std::uint32_t>(payload_bytes)};
}

}  // namespace

void OutputBuffer::add(std::span<const std::byte> bytes) {
  pieces_.push_back({Buffer::copy_of(bytes), false});
}

void OutputBuffer::add(const wire::Header& header, const Buffer& payload) {
  const bool lent = payload.size() >= kLeastInPlace;
  const std::size_t copied = lent ? 0 : payload.size();
  Buffer bytes = Buffer::allocate(kHeadBytes + wire::kHeaderBytes + copied);
  const std::span<std::byte> room = bytes.writable();
  write_head(room, head_of(1, payload.size()));
  std::memcpy(room.subspan(kHeadBytes).data(), &header, wire::kHeaderBytes);
  if (copied > 0) {
    std::memcpy(room.subspan(kHeadBytes + wire::kHeaderBytes).data(), payload.data(), copied);
  }
  pieces_.push_back({std::move(bytes), !lent});
  if (lent) pieces_.push_back({payload, true});
  ++messages_;
}

void OutputBuffer::add(FrameBatch& batch) {
  if (batch.frames().size() == 1) {
    add(batch.frames().front().header, batch.frames().front().payload);
  } else {
    const std::size_t headers = batch.headers_bytes();
    const std::size_t payloads = batch.payloads_bytes();
    Buffer bytes = Buffer::allocate(kHeadBytes + headers + payloads);
    const std::span<std::byte> room = bytes.writable();
    write_head(room, head_of(batch.frames().size(), payloads));
    batch.write_headers(room.subspan(kHeadBytes, headers));
    batch.write_payloads(room.subspan(kHeadBytes + headers));
    pieces_.push_back({std::move(bytes), true});
    ++messages_;
  }
  batch.clear();
}

int OutputBuffer::write(int descriptor) {
  while (!pieces_.empty()) {
    std::array<iovec, kMostPieces> parts;
    const std::size_t count = std::min(pieces_.size(), kMostPieces);
    std::size_t wanted = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t skip = i == 0 ? gone_ : 0;
      const Buffer& bytes = pieces_[i].bytes;
      // The kernel only reads them.
      parts[i] = {const_cast<std::byte*>(bytes.data()) + skip, bytes.size() - skip};
      wanted += bytes.size() - skip;
    }
    msghdr message{};
    message.msg_iov = parts.data();
    message.msg_iovlen = count;
    const ssize_t sent = ::sendmsg(descriptor, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0) {
      if (errno == EINTR) continue;
      return errno == EWOULDBLOCK ? EAGAIN : errno;
    }
    remove(static_cast<std::size_t>(sent));
    if (static_cast<std::size_t>(sent) < wanted) return EAGAIN;
  }
  return 0;
}

void OutputBuffer::remove(std::size_t bytes) {
  gone_ += bytes;
  while (!pieces_.empty() && gone_ >= pieces_.front().bytes.size()) {
    gone_ -= pieces_.front().bytes.size();
    if (pieces_.front().ends_message) --messages_;
    pieces_.pop_front();
  }
  STRETTO_CHECK(!pieces_.empty() || (gone_ == 0 && messages_ == 0));
}

void OutputBuffer::clear() {
  pieces_.clear();
  gone_ = 0;
  messages_ = 0;
}

}  // namespace stretto::tcp

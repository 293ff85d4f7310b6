// SPDX-License-Identifier: Apache-2.0
// Heads are put before parts here, and many pieces leave by one call.
#include "van/tcp/outlet.h"

#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "common/check.h"
#include "van/tcp/zmtp.h"

namespace stretto::tcp {
namespace {

constexpr std::size_t kMostPieces = 64;      // That leave by one call.
constexpr std::size_t kLeastInPlace = 4096;  // Smaller payloads are copied.
// Sealed before the kernel has taken them: what it may take by one call.
constexpr std::size_t kSealedAhead = 256 << 10;

// Puts bytes one after the other into a Buffer that has room for them.
class Writer {
 public:
  explicit Writer(std::size_t bytes) : buffer_(Buffer::allocate(bytes)) {}

  void head(std::size_t part_bytes, bool more) {
    std::array<std::byte, kMostHeadBytes> bytes{};
    const std::size_t length = write_head(bytes, part_bytes, more);
    std::memcpy(room(length).data(), bytes.data(), length);
  }
  std::span<std::byte> room(std::size_t bytes) {
    const std::span<std::byte> given = buffer_.writable().subspan(used_, bytes);
    used_ += bytes;
    return given;
  }
  Buffer take() {
    const Buffer whole = std::move(buffer_);
    return whole.slice(0, used_);
  }

 private:
  Buffer buffer_;
  std::size_t used_ = 0;
};

}  // namespace

void Outlet::add(std::span<const std::byte> bytes) {
  pieces_.push_back({Buffer::copy_of(bytes), false});
}

void Outlet::add_unsealed(const wire::Header& header, const Buffer& payload) {
  pieces_.push_back({Buffer::copy_of(std::as_bytes(std::span(&header, 1))), false});
  pieces_.push_back({payload, true});
  ++messages_;
}

void Outlet::add(const wire::Header& header, const Buffer& payload) {
  if (encrypts_) return add_unsealed(header, payload);
  const bool lent = payload.size() >= kLeastInPlace;
  Writer writer(2 * kMostHeadBytes + wire::kHeaderBytes + (lent ? 0 : payload.size()));
  writer.head(wire::kHeaderBytes, true);
  std::memcpy(writer.room(wire::kHeaderBytes).data(), &header, wire::kHeaderBytes);
  writer.head(payload.size(), false);
  if (!lent && !payload.empty()) {
    std::memcpy(writer.room(payload.size()).data(), payload.data(), payload.size());
  }
  pieces_.push_back({writer.take(), !lent});
  if (lent) pieces_.push_back({payload, true});
  ++messages_;
}

void Outlet::add(MessageBatch& batch) {
  if (batch.frames().size() == 1) {
    add(batch.frames().front().header, batch.frames().front().payload);
  } else if (encrypts_) {
    Buffer headers = Buffer::allocate(batch.headers_bytes());
    batch.write_headers(headers.writable());
    Buffer payloads = Buffer::allocate(batch.payloads_bytes());
    batch.write_payloads(payloads.writable());
    pieces_.push_back({std::move(headers), false});
    pieces_.push_back({std::move(payloads), true});
    ++messages_;
  } else {
    Writer writer(2 * kMostHeadBytes + batch.headers_bytes() + batch.payloads_bytes());
    writer.head(batch.headers_bytes(), true);
    batch.write_headers(writer.room(batch.headers_bytes()));
    writer.head(batch.payloads_bytes(), false);
    batch.write_payloads(writer.room(batch.payloads_bytes()));
    pieces_.push_back({writer.take(), true});
    ++messages_;
  }
  batch.clear();
}

// Not more than may leave: what waits is not copied, and its lease not ended, before its turn.
void Outlet::seal() {
  while (sealed_ < pieces_.size() && sealed_bytes_ - gone_ < kSealedAhead) {
    Piece& piece = pieces_[sealed_];
    Writer writer(kMostHeadBytes + kSealBytes + piece.bytes.size());
    writer.head(kSealBytes + piece.bytes.size(), false);
    sealer_->seal(piece.ends_message ? 0 : kSealedMore, piece.bytes.bytes(),
                  writer.room(kSealBytes + piece.bytes.size()));
    piece.bytes = writer.take();
    sealed_bytes_ += piece.bytes.size();
    ++sealed_;
  }
}

int Outlet::write(int descriptor) {
  STRETTO_CHECK(!encrypts_ || sealer_ != nullptr);
  while (!pieces_.empty()) {
    if (encrypts_) seal();
    STRETTO_CHECK(sealed_ <= pieces_.size());
    std::array<iovec, kMostPieces> parts;
    const std::size_t count = std::min(encrypts_ ? sealed_ : pieces_.size(), kMostPieces);
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
    left(static_cast<std::size_t>(sent));
    if (static_cast<std::size_t>(sent) < wanted) return EAGAIN;
  }
  return 0;
}

void Outlet::left(std::size_t bytes) {
  gone_ += bytes;
  // A piece that is not sealed has not left, though it be empty.
  while (!pieces_.empty() && (!encrypts_ || sealed_ > 0) && gone_ >= pieces_.front().bytes.size()) {
    gone_ -= pieces_.front().bytes.size();
    if (encrypts_) {
      sealed_bytes_ -= pieces_.front().bytes.size();
      --sealed_;
    }
    if (pieces_.front().ends_message) --messages_;
    pieces_.pop_front();
  }
  STRETTO_CHECK(!pieces_.empty() || (gone_ == 0 && messages_ == 0));
}

void Outlet::clear() {
  pieces_.clear();
  gone_ = sealed_ = sealed_bytes_ = 0;
  messages_ = 0;
}

}  // namespace stretto::tcp

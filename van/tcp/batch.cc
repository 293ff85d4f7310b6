// SPDX-License-Identifier: Apache-2.0
// Putting frames together and taking them apart. What comes has been checked by fits().
#include "van/tcp/batch.h"

#include <cstring>
#include <utility>

#include "common/check.h"

namespace stretto::tcp {

void MessageBatch::add(const wire::Header& header, const Buffer& payload) {
  frames_.push_back({header, payload});
  bytes_ += wire::kHeaderBytes + payload.size();
}

void MessageBatch::clear() {
  frames_.clear();
  bytes_ = 0;
}

void MessageBatch::write_headers(std::span<std::byte> at) const {
  STRETTO_CHECK(at.size() == headers_bytes());
  std::byte* next = at.data();
  for (const Waiting& frame : frames_) {
    std::memcpy(next, &frame.header, wire::kHeaderBytes);
    next += wire::kHeaderBytes;
  }
}

void MessageBatch::write_payloads(std::span<std::byte> at) const {
  STRETTO_CHECK(at.size() == payloads_bytes());
  std::byte* length_at = at.data();
  std::byte* next = length_at + frames_.size() * kLengthBytes;
  for (const Waiting& frame : frames_) {
    const auto length = static_cast<std::uint32_t>(frame.payload.size());
    std::memcpy(length_at, &length, kLengthBytes);
    length_at += kLengthBytes;
    if (length != 0) std::memcpy(next, frame.payload.data(), length);
    next += length;
  }
}

Unpacked::Unpacked(std::span<const std::byte> headers, std::span<const std::byte> payloads,
                   std::function<Buffer()> whole)
    : headers_(headers),
      payloads_(payloads),
      whole_(std::move(whole)),
      count_(headers.size() / wire::kHeaderBytes),
      offset_(count_ * kLengthBytes) {}

bool Unpacked::next(wire::HeaderView& header, Buffer& payload) {
  if (taken_ == count_) return false;
  header = wire::HeaderView(headers_.data() + taken_ * wire::kHeaderBytes, wire::kHeaderBytes);
  if (count_ == 1) {
    payload = whole_();
  } else {
    const std::size_t length = length_in(payloads_, taken_);
    payload = length == 0 ? Buffer() : Buffer::copy_of(payloads_.subspan(offset_, length));
    offset_ += length;
  }
  ++taken_;
  return true;
}

}  // namespace stretto::tcp

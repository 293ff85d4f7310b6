// SPDX-License-Identifier: Apache-2.0
// Packing and unpacking of batches.
#include "van/transport/frame_batch.h"

#include <cstring>
#include <utility>

#include "common/check.h"

namespace stretto {
namespace {

constexpr std::size_t kLengthBytes = sizeof(std::uint32_t);

std::size_t length_in(std::span<const std::byte> payloads, std::size_t index) {
  std::uint32_t length = 0;
  std::memcpy(&length, payloads.data() + index * kLengthBytes, kLengthBytes);
  return length;
}

}  // namespace

bool is_frame_or_batch(std::span<const std::byte> headers, std::span<const std::byte> payloads,
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

std::size_t FrameBatch::payloads_bytes() const {
  return frames_.size() * kLengthBytes + bytes_ - headers_bytes();
}

void FrameBatch::add(const wire::Header& header, const Buffer& payload) {
  frames_.push_back({header, payload});
  bytes_ += wire::kHeaderBytes + payload.size();
}

void FrameBatch::clear() {
  frames_.clear();
  bytes_ = 0;
}

void FrameBatch::write_headers(std::span<std::byte> at) const {
  STRETTO_CHECK(at.size() == headers_bytes());
  std::byte* next = at.data();
  for (const Frame& frame : frames_) {
    std::memcpy(next, &frame.header, wire::kHeaderBytes);
    next += wire::kHeaderBytes;
  }
}

void FrameBatch::write_payloads(std::span<std::byte> at) const {
  STRETTO_CHECK(at.size() == payloads_bytes());
  std::byte* length_at = at.data();
  std::byte* next = length_at + frames_.size() * kLengthBytes;
  for (const Frame& frame : frames_) {
    const auto length = static_cast<std::uint32_t>(frame.payload.size());
    std::memcpy(length_at, &length, kLengthBytes);
    length_at += kLengthBytes;
    if (length != 0) std::memcpy(next, frame.payload.data(), length);
    next += length;
  }
}

UnpackedFrames::UnpackedFrames(std::span<const std::byte> headers,
                               std::span<const std::byte> payloads, std::function<Buffer()> whole)
    : headers_(headers),
      payloads_(payloads),
      whole_(std::move(whole)),
      count_(headers.size() / wire::kHeaderBytes),
      offset_(count_ * kLengthBytes) {}

bool UnpackedFrames::next(wire::HeaderView& header, Buffer& payload) {
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

}  // namespace stretto

// SPDX-License-Identifier: Apache-2.0
// Frames are kept in the order of their numbers, without a gap.
#include "van/session/retransmit_buffer.h"

#include <algorithm>

#include "common/check.h"

namespace stretto {
namespace {

std::uint64_t data_bytes(const RetransmitBuffer::Kept& kept) {
  const wire::Kind kind = kept.header.kind;
  const bool data = kind != wire::Kind::kControl && kind != wire::Kind::kCredit;
  return data ? wire::kHeaderBytes + kept.payload.size() : 0;
}

}  // namespace

void RetransmitBuffer::add(const wire::Header& header, const Buffer& payload) {
  STRETTO_CHECK(next_ == kept_.size());
  STRETTO_CHECK(kept_.empty() || kept_.back().header.sequence + 1 == header.sequence);
  kept_.push_back({header, payload});
  bytes_ += payload.size();
  ++next_;
}

// A peer may acknowledge frames before their retransmission: the old link may have delivered them.
void RetransmitBuffer::drop_through(std::uint64_t sequence) {
  while (!kept_.empty() && kept_.front().header.sequence <= sequence) {
    bytes_ -= kept_.front().payload.size();
    dropped_data_bytes_ += data_bytes(kept_.front());
    kept_.pop_front();
    next_ -= std::min<std::size_t>(next_, 1);
  }
}

std::uint64_t RetransmitBuffer::creditable_through(std::uint64_t sequence) const {
  std::uint64_t bytes = dropped_data_bytes_;
  for (const Kept& kept : kept_) {
    if (kept.header.sequence > sequence) break;
    bytes += data_bytes(kept);
  }
  return bytes;
}

void RetransmitBuffer::clear() {
  kept_.clear();
  bytes_ = 0;
  next_ = 0;
}

void RetransmitBuffer::sent_again() {
  STRETTO_CHECK(next_ < kept_.size());
  ++next_;
}

}  // namespace stretto

// SPDX-License-Identifier: Apache-2.0
// Frames are kept in the order of their numbers, without a gap.
#include "van/kept_frames.h"

#include <algorithm>

#include "common/check.h"

namespace stretto {

void KeptFrames::add(const wire::Header& header, const Buffer& payload) {
  STRETTO_CHECK(next_ == kept_.size());
  STRETTO_CHECK(kept_.empty() || kept_.back().header.sequence + 1 == header.sequence);
  kept_.push_back({header, payload});
  bytes_ += payload.size();
  ++next_;
}

// A far end may say that it has what has yet to be sent again: it may have come by the link before.
void KeptFrames::drop_through(std::uint64_t sequence) {
  while (!kept_.empty() && kept_.front().header.sequence <= sequence) {
    bytes_ -= kept_.front().payload.size();
    kept_.pop_front();
    next_ -= std::min<std::size_t>(next_, 1);
  }
}

void KeptFrames::clear() {
  kept_.clear();
  bytes_ = 0;
  next_ = 0;
}

void KeptFrames::sent_again() {
  STRETTO_CHECK(next_ < kept_.size());
  ++next_;
}

}  // namespace stretto

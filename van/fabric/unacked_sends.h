// SPDX-License-Identifier: Apache-2.0
// UnackedSends: the frames of one direction of a link that the peer has not taken yet, in order:
// first those with the provider, then those that wait for it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>

#include "common/check.h"
#include "common/memory/buffer.h"
#include "van/fabric/endpoint.h"
#include "van/wire/header.h"

namespace stretto::fabric {

struct Outgoing {
  wire::HeaderBytes header;
  Buffer payload;  // A small one until it is copied, a large one until it is fetched.
  Region region;   // Ends before the payload does.
};

/// Thread: loop.
class UnackedSends {
 public:
  explicit UnackedSends(std::size_t most) : most_(most) {}

  /// The peer can queue `frames` frames.
  void limit(std::size_t frames) { most_ = std::min(most_, frames); }
  bool full() const { return frames_.size() >= most_; }
  bool half_empty() const { return frames_.size() <= most_ / 2; }
  void put(const wire::Header& header, const Buffer& payload) {
    frames_.push_back({wire::encode(header), payload, {}});
  }

  /// The first waiting frame; null if there is none. Its number is next_sequence().
  Outgoing* next() { return handed_ < frames_.size() ? &frames_[handed_] : nullptr; }
  std::uint64_t next_sequence() const { return taken_ + handed_ + 1; }
  /// That frame is now with the provider.
  void handed() {
    STRETTO_CHECK(handed_ < frames_.size());
    Outgoing& frame = frames_[handed_++];
    if (frame.region == nullptr) frame.payload = {};
  }
  /// The peer has taken the first `frames` frames. False: more than were sent.
  bool taken(std::uint64_t frames) {
    if (frames > taken_ + handed_) return false;
    for (; taken_ < frames; ++taken_, --handed_) frames_.pop_front();
    return true;
  }
  std::uint64_t handed_in_all() const { return taken_ + handed_; }
  std::uint64_t taken_in_all() const { return taken_; }
  /// Drops the waiting frames.
  void drop_waiting() { frames_.resize(handed_); }
  /// True while the peer may read memory of ours.
  bool exposes() const {
    return std::ranges::any_of(frames_, [](const Outgoing& one) { return one.region != nullptr; });
  }

 private:
  std::size_t most_;
  std::deque<Outgoing> frames_;
  std::size_t handed_ = 0;   // Of frames_.
  std::uint64_t taken_ = 0;  // Frames already removed from frames_.
};

}  // namespace stretto::fabric

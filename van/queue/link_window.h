// SPDX-License-Identifier: Apache-2.0
// LinkWindow: the send window of one link: bytes in flight, and their limit.
#pragma once

#include <algorithm>
#include <cstdint>

#include "common/check.h"
#include "van/queue/slicing.h"
#include "van/wire/header.h"

namespace stretto {

/// Limit of bytes in flight, and size of slices.
struct WindowLimits {
  std::uint64_t window_bytes = 0;
  std::uint64_t quantum_bytes = wire::kMaxPayloadBytes;
};

/// An empty window accepts any slice: a window below a slice's size slows a link but never stops
/// it.
bool has_room(std::uint64_t in_flight, std::uint64_t room, std::uint64_t window);

/// Thread: loop. Pure: counters of bytes, headers included.
class LinkWindow {
 public:
  explicit LinkWindow(std::uint64_t window_bytes) { set_window(window_bytes); }

  void set_window(std::uint64_t bytes) { latency_.window_bytes = throughput_.window_bytes = bytes; }
  void set_bounds(const WindowLimits& latency, const WindowLimits& throughput) {
    latency_ = latency;
    throughput_ = throughput;
  }

  /// `wide`: in throughput mode.
  void note_sent(std::uint64_t bytes, bool wide) {
    sent_bytes_ += bytes;
    if (wide) wide_end_bytes_ = sent_bytes_;
  }
  /// Total that the peer's program has taken. False if that is more than was sent.
  bool note_credited(std::uint64_t taken_bytes) {
    if (taken_bytes > sent_bytes_) return false;
    credited_bytes_ = std::max(credited_bytes_, taken_bytes);
    return true;
  }
  /// Total that has left this host.
  void note_departed(std::uint64_t sent_bytes) {
    departed_bytes_ = std::max(departed_bytes_, std::min(sent_bytes, sent_bytes_));
  }

  std::uint64_t sent() const { return sent_bytes_; }
  std::uint64_t in_flight() const {
    STRETTO_CHECK(credited_bytes_ <= sent_bytes_);
    return sent_bytes_ - credited_bytes_;
  }
  /// Bytes in flight that may still be in this host.
  std::uint64_t here() const { return sent_bytes_ - gone_bytes(); }
  /// True if some of those bytes were sent in throughput mode.
  bool is_wide_here() const { return wide_end_bytes_ > gone_bytes(); }
  /// Whether a slice of `room` fits. In latency mode an urgent slice gets the throughput window
  /// while bytes sent in throughput mode are in flight.
  bool has_room(std::uint64_t room, bool urgent, bool latency_mode) const {
    const bool wide = !latency_mode || (urgent && wide_end_bytes_ > credited_bytes_);
    return stretto::has_room(in_flight(), room, (wide ? throughput_ : latency_).window_bytes);
  }
  std::uint64_t quantum_bytes(bool latency_mode) const {
    return (latency_mode ? latency_ : throughput_).quantum_bytes;
  }

 private:
  std::uint64_t gone_bytes() const { return std::max(credited_bytes_, departed_bytes_); }

  WindowLimits latency_;
  WindowLimits throughput_;
  std::uint64_t sent_bytes_ = 0;
  std::uint64_t wide_end_bytes_ = 0;  // Total sent with the last wide slice.
  std::uint64_t credited_bytes_ = 0;
  std::uint64_t departed_bytes_ = 0;
};

}  // namespace stretto

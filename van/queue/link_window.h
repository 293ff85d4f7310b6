// SPDX-License-Identifier: Apache-2.0
// LinkWindow: the send window of one link: how much it has in flight, and how much it may have.
#pragma once

#include <algorithm>
#include <cstdint>

#include "common/check.h"
#include "van/queue/slicing.h"
#include "van/wire/header.h"

namespace stretto {

/// How much may be in flight, and in slices of what size, in bytes.
struct WindowLimits {
  std::uint64_t window_bytes = 0;
  std::uint64_t quantum_bytes = wire::kMaxPayloadBytes;
};

/// A window that is empty lets any slice pass: one smaller than that slows a link and never stops
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
  /// So much in all has been taken by the far end's program. False if that is more than was sent.
  bool note_credited(std::uint64_t taken_bytes) {
    if (taken_bytes > sent_bytes_) return false;
    credited_bytes_ = std::max(credited_bytes_, taken_bytes);
    return true;
  }
  /// So much in all has left this host.
  void note_departed(std::uint64_t sent_bytes) {
    departed_bytes_ = std::max(departed_bytes_, std::min(sent_bytes, sent_bytes_));
  }

  std::uint64_t sent() const { return sent_bytes_; }
  std::uint64_t in_flight() const {
    STRETTO_CHECK(credited_bytes_ <= sent_bytes_);
    return sent_bytes_ - credited_bytes_;
  }
  /// In flight, and in this host for all that is known.
  std::uint64_t here() const { return sent_bytes_ - gone_bytes(); }
  /// True while some of that went wide.
  bool is_wide_here() const { return wide_end_bytes_ > gone_bytes(); }
  /// For a slice that wants so much room. In latency mode an urgent one has the window of
  /// throughput mode while something that was sent in that is in flight.
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
  std::uint64_t wide_end_bytes_ = 0;  // Sent when the last wide slice had gone, itself included.
  std::uint64_t credited_bytes_ = 0;
  std::uint64_t departed_bytes_ = 0;
};

}  // namespace stretto

// SPDX-License-Identifier: Apache-2.0
// FrameHandler: a role's callbacks for the events of a Van.
#pragma once

#include <cstdint>
#include <span>

#include "van/control/control.h"
#include "van/transport/transport.h"

namespace stretto {

/// Called inside Van::step(). Thread: loop.
class FrameHandler {
 public:
  virtual ~FrameHandler() = default;
  /// A control message. On a link that is not admitted it is a Hello (the peer connected), or a
  /// Welcome or Fault (this end did); other messages are refused before.
  virtual void on_control(LinkId link, const control::Message& message) = 0;
  /// A data frame of an admitted link: any kind but control, credit or more.
  virtual void on_data(LinkId link, const wire::Header& header, Buffer payload) = 0;
  /// The peer has applied a push of this end.
  virtual void on_acked(LinkId link, wire::PushTag push) = 0;
  /// The last slice of a frame with this tag was submitted: the frame can no longer be steered.
  /// Must not close links.
  virtual void on_left(LinkId, std::uint64_t /*tag*/) {}
  /// Memory for the payload of this frame, whose slices are arriving; empty: memory of the Van.
  /// on_data's payload starts there. Called again for every slice: if it is empty then, the rest is
  /// dropped, and on_data gets no payload.
  virtual std::span<std::byte> landing(LinkId, const wire::Header&) { return {}; }
  /// Queued frames are about to leave: establish here what must hold before that.
  virtual void before_sending() {}
  /// The link has ended. Only for links that the handler opened or got a Hello from.
  virtual void on_broken(LinkId link, const Status& why) = 0;
};

/// Counters for metrics and tests.
struct FrameCounters {
  std::uint64_t frames_in = 0;
  std::uint64_t frames_out = 0;
  std::uint64_t data_bytes_in = 0;
  std::uint64_t data_bytes_out = 0;
  std::uint64_t refused = 0;    ///< Rejected frames and links from outside.
  std::uint64_t breaks = 0;     ///< Links that ended and were not closed here.
  std::uint64_t mended = 0;     ///< Reconnected sessions.
  std::uint64_t corrupted = 0;  ///< Corrupted frames.
  std::uint64_t stalls = 0;  ///< Times that sending stopped while a frame had to wait for credit.
};

}  // namespace stretto

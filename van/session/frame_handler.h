// SPDX-License-Identifier: Apache-2.0
// FrameHandler: what a role does with what a Van brings it.
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
  /// A control message. On a link that has not been admitted it is a Hello (they connected), or a
  /// Welcome or Fault (we did); anything else there has been refused already.
  virtual void on_control(LinkId link, const control::Message& message) = 0;
  /// A data frame of an admitted link: any that is not control, credit or more.
  virtual void on_data(LinkId link, const wire::Header& header, Buffer payload) = 0;
  /// The far end has applied a push of ours.
  virtual void on_acked(LinkId link, wire::PushTag push) = 0;
  /// The last of a frame with this tag has been submitted: it is out of reach now. Must not
  /// close links.
  virtual void on_left(LinkId, std::uint64_t /*tag*/) {}
  /// Where the payload of this frame, whose slices are coming, should be put together; empty: in
  /// memory of the Van. on_data's payload starts there then. Asked again for every slice: if it
  /// is empty then, the rest is dropped, and on_data gets no payload.
  virtual std::span<std::byte> landing(LinkId, const wire::Header&) { return {}; }
  /// What has been queued until now is about to leave: what must be so before anybody hears of it
  /// is made so here.
  virtual void before_sending() {}
  /// The link has ended. Only for links that the handler has connected or seen a Hello of.
  virtual void on_broken(LinkId link, const Status& why) = 0;
};

/// What has gone by, for metrics and tests.
struct FrameCounters {
  std::uint64_t frames_in = 0;
  std::uint64_t frames_out = 0;
  std::uint64_t data_bytes_in = 0;
  std::uint64_t data_bytes_out = 0;
  std::uint64_t refused = 0;    ///< Frames and links from outside that were not ours.
  std::uint64_t breaks = 0;     ///< Links that ended and were not closed here.
  std::uint64_t mended = 0;     ///< Sessions that went on with another link.
  std::uint64_t corrupted = 0;  ///< Frames that were not as they had left.
  std::uint64_t stalls = 0;  ///< Times that sending ended while something had to wait for credit.
};

}  // namespace stretto

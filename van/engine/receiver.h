// SPDX-License-Identifier: Apache-2.0
// Receiver: a Van's incoming side. It checks frames, credits them, reassembles slices, and calls
// the handler with whole frames.
#pragma once

#include <limits>

#include "van/engine/reconnector.h"

namespace stretto {

/// Thread: loop.
class Receiver {
 public:
  /// Both as in VanOptions.
  struct Slices {
    std::uint64_t most_begun_bytes = std::numeric_limits<std::uint64_t>::max();
    bool assembles = true;
  };
  /// The sender owns the shared parts, and gets the acks that a frame carries.
  Receiver(const Sender::Parts& parts, Sender& sender, Reconnector& mender, const Slices& slices)
      : parts_(parts), sender_(sender), mender_(mender), slices_(slices) {}

  /// Data frames of earlier epochs are refused.
  void set_fence(std::uint32_t epoch) { fence_ = epoch; }

  /// A frame of a link. The handler may close the link before this returns. kRefused: send the
  /// reason to the peer before the link ends; any other error ends it.
  Status receive(LinkId id, LinkState& link, wire::HeaderView bytes, Buffer payload,
                 FrameHandler& handler);

 private:
  Status verify(LinkState& link, wire::HeaderView bytes, const Buffer& payload);
  Status check(const LinkState& link, const wire::Header& header) const;
  Status accept(LinkId id, LinkState& link, const wire::Header& header);
  Status take(LinkId id, LinkState& link, const wire::Header& header, Buffer payload,
              FrameHandler& handler);
  bool take_acks(LinkId id, LinkState& link, std::uint64_t acked, FrameHandler& handler);
  Status take_control(LinkId id, LinkState& link, const wire::Header& header, const Buffer& payload,
                      FrameHandler& handler);
  Status take_slice(LinkId id, LinkState& link, const wire::Header& header, const Buffer& payload,
                    FrameHandler& handler);
  void deliver(LinkId id, const wire::Header& header, Buffer payload, FrameHandler& handler);

  Sender::Parts parts_;
  Sender& sender_;
  Reconnector& mender_;
  const Slices slices_;
  std::uint32_t fence_ = 0;
};

}  // namespace stretto

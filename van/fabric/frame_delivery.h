// SPDX-License-Identifier: Apache-2.0
// FrameDelivery: passes received frames to the transport's sink, in bounded turns.
#pragma once

#include "van/fabric/engine.h"
#include "van/fabric/link.h"
#include "van/fabric/options.h"
#include "van/transport/transport.h"

namespace stretto::fabric {

/// Thread: loop. `options` and `traffic` must outlive this. The sink may close the link, which then
/// stops delivery.
class FrameDelivery {
 public:
  FrameDelivery(const FabricOptions& options, Traffic& traffic)
      : options_(options), traffic_(traffic) {}

  /// One turn of a link: delivers received frames and submits waiting ones. True if the sink was
  /// called. `frames_left`: the frames left in this poll.
  bool turn(Transport::Sink& sink, FabricLink& link, int& frames_left);

 private:
  void deliver_head(Transport::Sink& sink, FabricLink& link);
  Buffer payload_of(Arrival& arrival);

  const FabricOptions& options_;
  Traffic& traffic_;
};

}  // namespace stretto::fabric

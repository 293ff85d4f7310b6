// SPDX-License-Identifier: Apache-2.0
// FrameDelivery: frames that have come, to the transport's sink, in turns of a bounded number.
#pragma once

#include "van/fabric/engine.h"
#include "van/fabric/link.h"
#include "van/fabric/options.h"
#include "van/transport/transport.h"

namespace stretto::fabric {

/// Thread: loop. Both outlive this. What the sink does may close the link, which then delivers no
/// more.
class FrameDelivery {
 public:
  FrameDelivery(const FabricOptions& options, Traffic& traffic)
      : options_(options), traffic_(traffic) {}

  /// A turn of one link: what has come goes to the sink, what waits goes out. True if the sink was
  /// called. `frames_left` is what is left of the poll.
  bool turn(Transport::Sink& sink, FabricLink& link, int& frames_left);

 private:
  void deliver_head(Transport::Sink& sink, FabricLink& link);
  Buffer payload_of(Arrival& arrival);

  const FabricOptions& options_;
  Traffic& traffic_;
};

}  // namespace stretto::fabric

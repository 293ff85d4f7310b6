// SPDX-License-Identifier: Apache-2.0
// JoinedNode: worker 0 of two, which has joined. The scheduler and a shard are played by hand.
#pragma once

#include "tests/worker/played_node.h"

namespace stretto::fake {

class JoinedNode : public PlayedNode {
 protected:
  JoinedNode() {
    node_.join([](const Status&) {});
    say(scheduler_, welcome(10, 0));
    const Roster all = roster(2, 1);
    say(scheduler_, all);
    say(shard_, welcome(10, 0));
    scheduler_.epoch = shard_.epoch = all.epoch;
  }

  FarEnd shard_{wire_, 2, 50};
};

}  // namespace stretto::fake

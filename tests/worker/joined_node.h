// SPDX-License-Identifier: Apache-2.0
// JoinedNode: worker 0 of two, which has joined. The scheduler and a shard are played by hand.
#pragma once

#include <gtest/gtest.h>

#include "tests/van/far_end.h"
#include "worker/node.h"

namespace stretto::fake {

class JoinedNode : public testing::Test {
 protected:
  JoinedNode() {
    node_.join([](const Status&) {});
    say(scheduler_, welcome(10, 0));
    const Roster all = roster(2, 1);
    say(scheduler_, all);
    say(shard_, welcome(10, 0));
    scheduler_.epoch = shard_.epoch = all.epoch;
  }
  void step() {
    node_.step(Duration::zero());
    node_.step(Duration::zero());
  }
  void say(FarEnd& far, const control::Message& message) {
    far.say(message);
    step();
  }

  sim::VirtualClock clock_;
  Wire wire_;
  Config config_ = config(Role::kWorker);
  WorkerNode node_{config_, scripted_transport(wire_), clock_};
  FarEnd scheduler_{wire_, 1, kSchedulerNode};
  FarEnd shard_{wire_, 2, 50};
};

}  // namespace stretto::fake

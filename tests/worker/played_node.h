// SPDX-License-Identifier: Apache-2.0
// PlayedNode: a worker's node in virtual time, and the scheduler that it goes to, played by hand.
#pragma once

#include <gtest/gtest.h>

#include "tests/van/far_end.h"
#include "worker/node.h"

namespace stretto::fake {

class PlayedNode : public testing::Test {
 protected:
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
};

}  // namespace stretto::fake

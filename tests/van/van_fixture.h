// SPDX-License-Identifier: Apache-2.0
// A listening Van and one worker, frame by frame in virtual time.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/van/far_end.h"
#include "tests/van/recorder.h"
#include "van/engine/van.h"

namespace stretto::fake {

inline constexpr NodeId kWorkerNode = 10;

/// A listening Van and one worker, which connects when the test says so.
class VanFixture : public testing::Test {
 protected:
  explicit VanFixture(const VanOptions& options = {})
      : van_(scripted_transport(wire_), clock_, options) {
    van_.set_node(50);
    van_.set_epoch(3, 2);
    worker_.epoch = 3;
  }

  void step() { van_.step(seen_, Duration::zero()); }
  void pass(Duration time) {
    clock_.advance_to(clock_.now() + time);
    step();
  }
  void admit_worker() {
    worker_.connect();
    worker_.say(hello(Role::kWorker, 0));
    step();
    van_.links().admit(worker_.link(), kWorkerNode);
    seen_.controls.clear();
  }
  void push(std::uint64_t round, std::size_t bytes = 64) {
    worker_.send(push_header({1, 0}, round), Buffer::allocate(bytes));
  }
  /// Expects that the worker's last frame has ended its link, with this cause.
  void expect_dropped(const std::string& says) {
    step();
    ASSERT_EQ(seen_.broken.size(), 1U);
    EXPECT_EQ(seen_.broken[0].first, worker_.link());
    EXPECT_THAT(seen_.broken[0].second.cause(), testing::HasSubstr(says));
    EXPECT_TRUE(worker_.closed());
    EXPECT_FALSE(van_.links().is_open(worker_.link()));
  }

  sim::VirtualClock clock_;
  Wire wire_;
  Recorder seen_;
  FarEnd worker_{wire_, 101, kWorkerNode};
  Van van_;
};

}  // namespace stretto::fake

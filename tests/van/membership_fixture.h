// SPDX-License-Identifier: Apache-2.0
// MembershipClientTest: a worker's membership in virtual time, with a simulated scheduler.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/van/far_end.h"
#include "tests/van/recorder.h"
#include "van/membership/membership_client.h"

namespace stretto::fake {

class MembershipClientTest : public testing::Test {
 protected:
  using State = MembershipClient::State;

  void shard_leaves() {
    Roster roster = *membership_.roster();
    ++roster.epoch;
    for (Member& member : roster.members) member.left = member.left || member.node == 50;
    say(roster);
  }
  MembershipClientTest() : MembershipClientTest(config(Role::kWorker, 1)) {}
  explicit MembershipClientTest(const Config& config) : config_(config) { membership_.start(); }

  void step() {
    Recorder seen;
    seen.when_control = [this](LinkId link, const control::Message& message) {
      handled_ = membership_.on_control(link, message);
    };
    van_.step(seen, Duration::zero());
    for (const auto& [link, why] : seen.broken) membership_.on_broken(link, why);
    membership_.tick();
    van_.step(seen, Duration::zero());
  }
  /// Lets time pass in a loop's steps, while the scheduler is silent.
  void pass(Duration time) {
    for (const Time end = clock_.now() + time; clock_.now() < end; step()) {
      clock_.advance_to(std::min(end, clock_.now() + 100ms));
    }
  }
  void jump(Duration time) {
    clock_.advance_to(clock_.now() + time);
    step();
  }
  void say(const control::Message& message) {
    scheduler_.say(message);
    step();
  }
  void become_member() {
    step();
    say(welcome(11, 1));
    say(roster());
    scheduler_.controls();
    ASSERT_EQ(membership_.state(), State::kMember);
  }
  void expect_failed(Code code, const char* says) {
    EXPECT_EQ(membership_.state(), State::kFailed);
    EXPECT_EQ(membership_.status().code(), code);
    EXPECT_THAT(membership_.status().cause(), testing::HasSubstr(says));
  }

  sim::VirtualClock clock_;
  Wire wire_;
  Config config_;
  Van van_{scripted_transport(wire_), clock_};
  MembershipClient membership_{config_, {}, van_, clock_};
  FarEnd scheduler_{wire_, 1, kSchedulerNode};
  bool handled_ = false;
};

}  // namespace stretto::fake

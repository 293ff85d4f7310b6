// SPDX-License-Identifier: Apache-2.0
// The links of a server to two workers that are played by hand, without a shard.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/sessions/worker_links.h"
#include "tests/server/group.h"
#include "tests/van/far_end.h"

namespace stretto::fake {

/// Thread: loop.
class LinksTest : public testing::Test, private Van::Handler {
 protected:
  LinksTest() {
    van_.set_node(50);
    van_.set_epoch(1, 1);
  }

  void call(FarEnd& worker, Rank rank) {
    worker.connect();
    worker.say(hello(Role::kWorker, rank, worker.node));
    step();
  }
  /// Both are in.
  void begin() {
    call(first_, 0);
    call(second_, 1);
    links_.follow(roster_);
    step();
    first_.controls();
    second_.controls();
  }
  void step() { van_.step(*this, Duration::zero()); }

  sim::VirtualClock clock_;
  Wire wire_;
  Config config_ = config(Role::kServer);
  Roster roster_ = roster();
  Van van_{scripted_transport(wire_), clock_};
  WorkerLinks links_{config_, van_};
  FarEnd first_{wire_, 101, node_of(0)};
  FarEnd second_{wire_, 102, node_of(1)};

 private:
  void on_control(LinkId link, const control::Message& message) override {
    if (control::is<control::Hello>(message)) links_.greet(link, std::get<control::Hello>(message));
    if (control::is<control::Leave>(message)) links_.leave(link);
  }
  void on_data(LinkId, const wire::Header&, Buffer) override {}
  void on_acked(LinkId, wire::PushTag) override {}
  void on_broken(LinkId link, const Status&) override { links_.lose(link); }
};

}  // namespace stretto::fake

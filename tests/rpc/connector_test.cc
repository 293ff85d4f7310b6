// SPDX-License-Identifier: Apache-2.0
// Getting in elsewhere, and the phases of an endpoint's end. In virtual time.
#include "rpc/connector.h"

#include <gtest/gtest.h>

#include <optional>
#include <thread>

#include "common/threads/loop_owner.h"
#include "rpc/shutdown.h"
#include "tests/sim/sim_network.h"

namespace stretto::rpc {
namespace {

using Phase = Shutdown::Phase;

class RpcConnector : public testing::Test {
 protected:
  void connect(Duration timeout) {
    connector_.connect("nobody:1", timeout, [this](const Result<Peer>& outcome) {
      EXPECT_FALSE(outcome_) << "ended twice";
      outcome_ = outcome;
    });
  }

  std::optional<LinkId> awaited() {
    for (LinkId link = 1; link < 1000; ++link) {
      if (connector_.awaits(link)) return link;
    }
    return std::nullopt;
  }

  sim::VirtualClock clock_;
  sim::SimNetwork network_{clock_, 1, {}};
  Van van_{network_.endpoint("here"), clock_};
  Connector connector_{van_, clock_, "secret"};
  std::optional<Result<Peer>> outcome_;
};

TEST_F(RpcConnector, TriesAgainUntilItsTimeIsOver) {
  const Time start = clock_.now();
  connect(1s);
  int broken = 0;
  while (!outcome_) {
    const std::optional<LinkId> link = awaited();
    if (link) {
      connector_.on_broken(*link, {Code::kLinkBroken, "it hung up"});
      ++broken;
    }
    ASSERT_LE(connector_.next_due(), start + 1s);
    clock_.advance_to(connector_.next_due());
    connector_.tick();
  }
  EXPECT_EQ(clock_.now(), start + 1s);
  EXPECT_EQ(broken, 10);  // Every 100 ms.
  EXPECT_EQ(outcome_->status().code(), Code::kTimeout);
  EXPECT_NE(outcome_->status().cause().find("it hung up"), std::string::npos);
  EXPECT_EQ(connector_.next_due(), Time::max());
}

TEST_F(RpcConnector, ResourceErrorEndsAttemptAtOnce) {
  connect(1s);
  ASSERT_TRUE(awaited());
  connector_.on_broken(*awaited(), {Code::kResource, "wanted a socket"});
  ASSERT_TRUE(outcome_);
  EXPECT_EQ(outcome_->status().cause(), "wanted a socket");
  EXPECT_FALSE(awaited());
  EXPECT_EQ(connector_.next_due(), Time::max());
}

TEST_F(RpcConnector, AFarEndThatSaysNothingIsWaitedForAsLong) {
  const Time start = clock_.now();
  connect(1s);
  ASSERT_TRUE(awaited());
  EXPECT_EQ(connector_.next_due(), start + 1s);
  clock_.advance_to(start + 1s);
  connector_.tick();
  ASSERT_TRUE(outcome_);
  EXPECT_NE(outcome_->status().cause().find("nothing was heard"), std::string::npos);
}

TEST_F(RpcConnector, ClosingEndsAllAttempts) {
  connect(1s);
  connector_.end_all({Code::kCancelled, "closed"});
  ASSERT_TRUE(outcome_);
  EXPECT_EQ(outcome_->status().code(), Code::kCancelled);
  connector_.end_all({Code::kCancelled, "again"});
}

TEST_F(RpcConnector, ALinkThatIsNotAwaitedIsNoAttempt) {
  connect(1s);
  EXPECT_FALSE(connector_.awaits(0));  // Between two attempts.
  EXPECT_FALSE(connector_.awaits(999));
  connector_.on_broken(999, {Code::kLinkBroken, "another's"});
  EXPECT_FALSE(outcome_);
}

TEST(RpcShutdown, WaitsForAnswersAndThenForFarEnds) {
  const Time start{100s};
  Shutdown shutdown;
  EXPECT_FALSE(shutdown.take_drained(true, start));  // Nobody closes it.
  shutdown.begin(start);
  EXPECT_TRUE(shutdown.begun());
  EXPECT_FALSE(shutdown.take_drained(false, start + 1s));
  EXPECT_TRUE(shutdown.take_drained(true, start + 2s));
  EXPECT_FALSE(shutdown.take_drained(true, start + 2s));  // Once.
  shutdown.on_links_closed(true, start + 2s);
  EXPECT_EQ(shutdown.phase(), Phase::kLingering);
  EXPECT_EQ(shutdown.deadline(), start + 2s + Shutdown::kLongestLinger);
  shutdown.on_links_closed(false, start + 3s);
  EXPECT_EQ(shutdown.phase(), Phase::kOver);
}

TEST(RpcShutdown, NeitherPhaseLastsForEver) {
  const Time start{100s};
  Shutdown shutdown;
  shutdown.begin(start);
  EXPECT_FALSE(shutdown.take_drained(false, start + Shutdown::kLongestDrain - 1ns));
  const Time drained = start + Shutdown::kLongestDrain;
  EXPECT_TRUE(shutdown.take_drained(false, drained));
  shutdown.on_links_closed(true, drained + Shutdown::kLongestLinger - 1ns);
  EXPECT_EQ(shutdown.phase(), Phase::kLingering);
  shutdown.on_links_closed(true, drained + Shutdown::kLongestLinger);
  EXPECT_EQ(shutdown.phase(), Phase::kOver);
}

TEST(RpcShutdownDeathTest, AnEndBeginsOnce) {
  Shutdown shutdown;
  shutdown.begin(Time{});
  EXPECT_DEATH(shutdown.begin(Time{}), "stretto bug");
}

}  // namespace
}  // namespace stretto::rpc

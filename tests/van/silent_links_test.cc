// SPDX-License-Identifier: Apache-2.0
// Two Vans that exchange data continuously over a path that becomes silent: how long the detection
// takes, and the cost of a silence that ends in time.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <utility>

#include "tests/sim/sim_network.h"
#include "tests/van/far_end.h"
#include "tests/van/recorder.h"
#include "van/engine/van.h"

namespace stretto {
namespace {

using namespace std::chrono_literals;
using testing::SizeIs;

constexpr NodeId kSilentShard = 50;
constexpr NodeId kSilentWorker = 10;
constexpr Duration kDeadAfter = 5s;
constexpr std::size_t kLargeBytes = 256;

class SilentLinksTest : public testing::Test {
 protected:
  SilentLinksTest() {
    for (Van* van : {&shard_, &worker_}) van->set_dead_after(kDeadAfter);
    shard_.set_node(kSilentShard);
    worker_.set_node(kSilentWorker);
    shard_.listen("shard:1").or_exit();
    at_shard_.when_control = [this](LinkId link, const control::Message& message) {
      if (!control::is<control::Hello>(message)) return;
      near_shard_ = link;
      shard_.links().admit(link, kSilentWorker);
      shard_.send_control(link, fake::welcome(kSilentWorker, 0));
    };
    at_worker_.when_control = [this](LinkId link, const control::Message& message) {
      if (control::is<control::Welcome>(message)) worker_.links().admit(link, kSilentShard);
    };
    link_ =
        worker_.links().connect("shard:1", fake::hello(Role::kWorker, 0, kSilentWorker)).or_exit();
    while (!worker_.links().is_open(link_)) turn();
    at_shard_.controls.clear();
    at_worker_.controls.clear();
  }

  void turn() {
    shard_.step(at_shard_, Duration::zero());
    worker_.step(at_worker_, Duration::zero());
    clock_.advance_to(clock_.now() + 2ms);
  }
  // Sends data in each direction whenever a queue is idle, as rounds do.
  void exchange() {
    if (worker_.queue().idle()) {
      ++pushed_;
      worker_.send(link_, fake::push_header({1, 0}, pushed_), Buffer::allocate(kBytes));
    }
    if (shard_.queue().idle()) {
      ++told_;
      wire::Header header = fake::push_header({2, 0}, told_);
      header.kind = wire::Kind::kValue;
      header.flags = 0;
      shard_.send(near_shard_, header, Buffer::allocate(kBytes));
    }
    turn();
  }
  void talk(Duration time) {
    for (const Time end = clock_.now() + time; clock_.now() < end && !heard();) exchange();
  }
  bool heard() const { return !at_shard_.broken.empty() || !at_worker_.broken.empty(); }
  void silence(bool there, bool back, std::size_t least_bytes) {
    if (there) network_.hush("worker", "shard", least_bytes);
    if (back) network_.hush("shard", "worker", least_bytes);
  }
  void end_silence() {
    network_.unhush("worker", "shard");
    network_.unhush("shard", "worker");
  }
  // The time from the silence of the path to its detection at an end.
  double seconds_until_heard(bool there, bool back, std::size_t least_bytes) {
    talk(300ms);
    silence(there, back, least_bytes);
    const Time began = clock_.now();
    talk(20s);
    EXPECT_TRUE(heard());
    return seconds(clock_.now() - began);
  }

  static constexpr std::size_t kBytes = 4000;
  sim::VirtualClock clock_;
  sim::SimNetwork network_{clock_, 1, {}};
  fake::Recorder at_shard_;
  fake::Recorder at_worker_;
  Van shard_{network_.endpoint("shard"), clock_, {.limits = link_limits(kDeadAfter)}};
  Van worker_{network_.endpoint("worker"), clock_, {.limits = link_limits(kDeadAfter)}};
  LinkId link_ = 0;
  LinkId near_shard_ = 0;
  std::uint64_t pushed_ = 0;
  std::uint64_t told_ = 0;
};

struct SilentWay {
  const char* name;
  bool there;
  bool back;
  std::size_t least_bytes;
};
class SilentWaysTest : public SilentLinksTest, public testing::WithParamInterface<SilentWay> {};

// The scheduler's time to decide comes on top.
TEST_P(SilentWaysTest, SilentPathIsReportedSoonAfterTimeout) {
  const double after =
      seconds_until_heard(GetParam().there, GetParam().back, GetParam().least_bytes);
  EXPECT_GE(after, seconds(kDeadAfter)) << "shorter ones cost time only";
  EXPECT_LE(after, 5.7);
}

TEST_P(SilentWaysTest, ASilenceThatEndsInTimeCostsTimeOnly) {
  talk(300ms);
  silence(GetParam().there, GetParam().back, GetParam().least_bytes);
  talk(4500ms);
  end_silence();
  talk(3s);
  EXPECT_FALSE(heard());
  const std::uint64_t before = at_shard_.data.size();
  talk(300ms);
  EXPECT_GT(at_shard_.data.size(), before) << "and they talk on";
  EXPECT_GE(at_shard_.data.size() + 1, pushed_);
  EXPECT_LE(at_shard_.data.size(), pushed_);
}

INSTANTIATE_TEST_SUITE_P(SilentLinks, SilentWaysTest,
                         testing::Values(SilentWay{"both", true, true, 0},
                                         SilentWay{"there", true, false, 0},
                                         SilentWay{"back", false, true, 0},
                                         SilentWay{"large", true, true, kLargeBytes},
                                         SilentWay{"large_there", true, false, kLargeBytes}),
                         [](const auto& way) { return way.param.name; });

TEST_F(SilentLinksTest, ResetRestartsFullTimeout) {
  talk(300ms);
  ASSERT_TRUE(network_.cut("worker", "shard"));
  silence(true, true, 0);
  talk(3500ms);
  end_silence();
  talk(2s);
  EXPECT_FALSE(heard());
}

// Small frames only, like acknowledgments.
class SmallFramesTest : public SilentLinksTest {
 protected:
  void chat(Duration time) {
    for (const Time end = clock_.now() + time; clock_.now() < end && !heard(); turn()) {
      if (worker_.queue().idle()) worker_.send_control(link_, fake::leave());
      if (shard_.queue().idle()) shard_.send_control(near_shard_, fake::leave());
    }
  }
  bool survives_reset(bool there, bool back) {
    chat(300ms);
    silence(there, back, kLargeBytes);
    chat(kDeadAfter);
    EXPECT_FALSE(heard()) << "small frames pass";
    EXPECT_TRUE(network_.cut("worker", "shard"));
    chat(2 * kDeadAfter);
    return !heard();
  }
};

TEST_F(SmallFramesTest, ReconnectSucceedsAfterReset) { EXPECT_TRUE(survives_reset(false, false)); }

TEST_F(SmallFramesTest, ReconnectNeedsLargePacketsToAcceptor) {
  EXPECT_FALSE(survives_reset(true, false));
}

TEST_F(SmallFramesTest, ReconnectNeedsLargePacketsToCaller) {
  EXPECT_FALSE(survives_reset(false, true));
}

TEST_F(SilentLinksTest, ReportsLinkLossAndReconnect) {
  talk(300ms);
  EXPECT_TRUE(shard_.links().take_news().empty());
  ASSERT_TRUE(network_.cut("worker", "shard"));
  shard_.step(at_shard_, Duration::zero());
  const std::map<NodeId, bool> apart = {{kSilentWorker, true}};
  EXPECT_EQ(shard_.links().take_news(), apart);
  talk(300ms);
  const std::map<NodeId, bool> mended = {{kSilentWorker, false}};
  EXPECT_EQ(shard_.links().take_news(), mended);
}

// ---- idle links

constexpr NodeId kSilentStandby = 51;

// A shard with links to the scheduler, to its standby, to which it sends, and to a worker, to which
// it does not.
class IdleLinksTest : public testing::Test {
 protected:
  IdleLinksTest() {
    const std::pair<Van*, NodeId> nodes[] = {
        {&scheduler_, kSchedulerNode}, {&standby_, kSilentStandby}, {&worker_, kSilentWorker}};
    shard_.set_node(kSilentShard);
    shard_.set_dead_after(kDeadAfter);
    at_shard_.when_control = [this](LinkId link, const control::Message& message) {
      if (control::is<control::Welcome>(message)) shard_.links().admit(link, links_.at(link));
    };
    for (const auto& [van, node] : nodes) {
      const std::string address = std::to_string(node) + ":1";
      van->set_node(node);
      van->set_dead_after(kDeadAfter);
      van->listen(address).or_exit();
      // clang 14 cannot capture a structured binding.
      seen_[van].when_control = [near = van](LinkId link, const control::Message& message) {
        if (!control::is<control::Hello>(message)) return;
        near->links().admit(link, kSilentShard);
        near->send_control(link, fake::welcome(kSilentShard, 0));
      };
      const auto hello = fake::hello(Role::kServer, 0, kSilentShard);
      links_[shard_.links().connect(address, hello).or_exit()] = node;
    }
    pass(100ms);
    for (auto& [van, seen] : seen_) seen.controls.clear();
  }
  void pass(Duration time) {
    for (const Time end = clock_.now() + time; clock_.now() < end;) {
      shard_.step(at_shard_, Duration::zero());
      for (auto& [van, seen] : seen_) van->step(seen, Duration::zero());
      clock_.advance_to(clock_.now() + 5ms);
    }
  }
  void send_to_standby() {
    for (const auto& [link, node] : links_) {
      if (node != kSilentStandby) continue;
      shard_.send(link, fake::push_header({1, 0}, 1), Buffer::allocate(4000));
    }
  }
  // Members whose links to the shard broke.
  std::set<NodeId> broken() const {
    std::set<NodeId> nodes;
    for (const auto& [link, why] : at_shard_.broken) nodes.insert(links_.at(link));
    return nodes;
  }

  sim::VirtualClock clock_;
  sim::SimNetwork network_{clock_, 1, {}};
  fake::Recorder at_shard_;
  std::map<Van*, fake::Recorder> seen_;
  std::map<LinkId, NodeId> links_;
  Van shard_{network_.endpoint("shard"), clock_, {.limits = link_limits(kDeadAfter)}};
  Van scheduler_{network_.endpoint("1"), clock_, {.limits = link_limits(kDeadAfter)}};
  Van standby_{network_.endpoint("51"), clock_, {.limits = link_limits(kDeadAfter)}};
  Van worker_{network_.endpoint("10"), clock_, {.limits = link_limits(kDeadAfter)}};
};

TEST_F(IdleLinksTest, ASharedFaultBreaksTheIdleLinkToo) {
  for (const char* far_end : {"1", "51", "10"}) network_.hush("shard", far_end, kLargeBytes);
  send_to_standby();
  pass(kDeadAfter / 2 + 2 * kDeadAfter);
  EXPECT_EQ(broken(), (std::set<NodeId>{kSilentStandby, kSilentWorker}))
      << "and large packets are not due to the scheduler";
}

TEST_F(IdleLinksTest, AFaultOfTheFarEndBreaksNoOther) {
  network_.hush("shard", "51", kLargeBytes);
  send_to_standby();
  pass(kDeadAfter / 2 + 2 * kDeadAfter);
  EXPECT_EQ(broken(), std::set<NodeId>{kSilentStandby});
  EXPECT_THAT(seen_[&worker_].controls, SizeIs(0)) << "a probe is nobody's message";
}

// ---- the last message of a link

class LinkFarewellsTest : public SilentLinksTest {
 protected:
  // Like a scheduler: the worker may disconnect once it has received the leave.
  void say_farewell() {
    shard_.send_control(near_shard_, fake::leave());
    shard_.links().await(near_shard_, Return::kUnlessEnded);
  }
  bool has_gone(Duration within) {
    const Time end = clock_.now() + within;
    while (clock_.now() < end && at_shard_.broken.empty()) {
      shard_.step(at_shard_, Duration::zero());
      clock_.advance_to(clock_.now() + 1ms);
    }
    return !at_shard_.broken.empty();
  }
  // Disconnects as soon as the worker has received the leave, in the same iteration.
  bool leaves_on_hearing(Duration within) {
    for (const Time end = clock_.now() + within; clock_.now() < end; turn()) {
      if (at_worker_.controls.empty()) continue;
      worker_.shut();
      return true;
    }
    return false;
  }
};

TEST_F(LinkFarewellsTest, DrainEndsOnceWorkerHearsFarewell) {
  talk(300ms);
  say_farewell();
  ASSERT_TRUE(leaves_on_hearing(1s));
  EXPECT_TRUE(has_gone(10ms));
}

TEST_F(LinkFarewellsTest, WorkerReconnectsToHearFarewell) {
  talk(300ms);
  say_farewell();
  shard_.step(at_shard_, Duration::zero());  // The leave has been sent.
  ASSERT_TRUE(network_.cut("worker", "shard"));
  ASSERT_TRUE(leaves_on_hearing(1s));
  EXPECT_THAT(at_worker_.broken, SizeIs(0));
  EXPECT_THAT(at_worker_.controls, SizeIs(1)) << "it hears it once";
  EXPECT_TRUE(has_gone(10ms));
}

TEST_F(LinkFarewellsTest, DrainWaitsBrieflyForLostWorker) {
  talk(300ms);
  say_farewell();
  shard_.step(at_shard_, Duration::zero());
  network_.kill("worker");
  EXPECT_FALSE(has_gone(700ms));
  EXPECT_TRUE(has_gone(100ms));
}

}  // namespace
}  // namespace stretto

// SPDX-License-Identifier: Apache-2.0
// Links that break during a handshake: the caller reconnects, the callee welcomes it once, and all
// later messages arrive once. Also hellos that match no earlier call.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "tests/sim/sim_network.h"
#include "tests/van/far_end.h"
#include "tests/van/recorder.h"
#include "van/engine/van.h"

namespace stretto {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr NodeId kCallee = 50;
constexpr NodeId kCaller = 10;

// Two workers: one connects; the other answers at once, or once it knows the caller.
class GreetedPair {
 public:
  explicit GreetedPair(Duration answers_after)
      : answers_after_(answers_after),
        callee_(network_.endpoint("callee"), clock_, {.limits = {.patience = 2s}}),
        caller_(network_.endpoint("caller"), clock_, {.limits = {.patience = 2s}}) {
    callee_.set_node(kCallee);
    caller_.set_node(kCaller);
    callee_.listen("callee:1").or_exit();
    at_callee_.when_control = [this](LinkId link, const control::Message& message) {
      if (!control::is<control::Hello>(message)) return;
      calls_.emplace_back(link, clock_.now() + answers_after_);
    };
    at_caller_.when_control = [this](LinkId link, const control::Message& message) {
      if (!control::is<control::Welcome>(message)) return;
      caller_.links().admit(link, kCallee);
      caller_.send_control(link, fake::barrier(1));
    };
    link_ = caller_.links().connect("callee:1", fake::hello(Role::kWorker, 0, kCaller)).or_exit();
  }

  void pass(Duration time) {
    for (const Time end = clock_.now() + time; clock_.now() < end;) turn();
  }
  bool cut() { return network_.cut("caller", "callee"); }

  void expect_that_all_came_once() {
    EXPECT_TRUE(caller_.links().is_open(link_));
    EXPECT_THAT(at_caller_.broken, IsEmpty());
    EXPECT_THAT(at_caller_.controls, SizeIs(2)) << "a welcome, and what followed it";
    std::size_t said = 0;
    for (const auto& [link, message] : at_callee_.controls) {
      said += control::is<control::Barrier>(message) ? 1 : 0;
    }
    EXPECT_EQ(said, 1U);
    // Callers that could not be answered are reported as broken; an opened session is not.
    for (const auto& [link, why] : at_callee_.broken) EXPECT_FALSE(welcomed_.contains(link));
    EXPECT_THAT(welcomed_, SizeIs(1));
  }

 private:
  void turn() {
    callee_.step(at_callee_, Duration::zero());
    std::erase_if(calls_, [this](const auto& call) {
      if (clock_.now() < call.second) return false;
      const bool gone = std::ranges::any_of(
          at_callee_.broken, [&](const auto& each) { return each.first == call.first; });
      if (gone) return true;
      callee_.send_control(call.first, fake::welcome(kCaller, 0));
      callee_.links().admit(call.first, kCaller);
      callee_.send_control(call.first, fake::barrier(1));
      welcomed_.insert(call.first);
      return true;
    });
    caller_.step(at_caller_, Duration::zero());
    clock_.advance_to(clock_.now() + 10us);
  }

  const Duration answers_after_;
  sim::VirtualClock clock_;
  sim::SimNetwork network_{clock_, 1, {.bytes_per_second = 1e8, .link_capacity_bytes = 200'000}};
  fake::Recorder at_callee_;
  fake::Recorder at_caller_;
  Van callee_;
  Van caller_;
  LinkId link_ = 0;
  std::vector<std::pair<LinkId, Time>> calls_;
  std::set<LinkId> welcomed_;
};

TEST(CalledAgain, ALinkMayBreakAtAnyMomentOfAGreeting) {
  for (const Duration answers_after : {0us, 300us, 150'000us}) {
    int cuts = 0;
    for (int at = 0; at < 40; ++at) {
      SCOPED_TRACE(at);
      GreetedPair greeting(answers_after);
      greeting.pass(at * 30us);
      cuts += greeting.cut() ? 1 : 0;
      greeting.pass(at * 21us);
      cuts += greeting.cut() ? 1 : 0;
      greeting.pass(500ms);
      greeting.expect_that_all_came_once();
      if (testing::Test::HasFailure()) return;
    }
    EXPECT_GE(cuts, 50) << "some come while there is no link";
  }
}

// A caller under script, with the limits of a job whose dead time is 5 s.
class CallerTest : public testing::Test {
 protected:
  CallerTest() {
    van_.set_node(kCaller);
    van_.links().connect("callee:1", fake::hello(Role::kWorker, 0, kCaller)).or_exit();
    step();
  }
  void step() { van_.step(seen_, Duration::zero()); }
  void pass(Duration time) {
    for (const Time end = clock_.now() + time; clock_.now() < end; step()) {
      clock_.advance_to(clock_.now() + 10ms);
    }
  }
  fake::FarEnd callee() { return {wire_, static_cast<LinkId>(wire_.connected.size()), kCallee}; }

  sim::VirtualClock clock_;
  fake::Wire wire_;
  fake::Recorder seen_;
  Van van_{fake::scripted_transport(wire_), clock_, {.limits = link_limits(5s)}};
};

TEST_F(CallerTest, CallerAwaitsWelcomeOnNewConnection) {
  callee().break_link();
  pass(100ms);
  ASSERT_THAT(wire_.connected, SizeIs(2));
  EXPECT_TRUE(control::is<control::Hello>(callee().control()));
  pass(60s);
  EXPECT_THAT(wire_.connected, SizeIs(2));
  EXPECT_THAT(seen_.broken, IsEmpty());
  callee().say(fake::welcome(kCaller, 0));
  step();
  ASSERT_THAT(seen_.controls, SizeIs(1));
  EXPECT_EQ(seen_.controls[0].first, 1U);
}

TEST_F(CallerTest, RetriesUnansweredConnectionUntilTimeout) {
  wire_.made = false;
  callee().break_link();
  pass(1400ms);
  EXPECT_THAT(wire_.connected, SizeIs(testing::Ge(3U)));
  EXPECT_THAT(seen_.broken, IsEmpty());
  pass(200ms);
  ASSERT_THAT(seen_.broken, SizeIs(1));
  EXPECT_EQ(seen_.broken[0].second.code(), Code::kLinkBroken);
  EXPECT_THAT(wire_.closed, SizeIs(wire_.connected.size()));
}

TEST_F(CallerTest, ReportsUnreachablePeerWithoutRetry) {
  for (const Code why : {Code::kNetwork, Code::kRefused, Code::kTimeout}) {
    CallerTest::pass(10ms);
    van_.links().connect("callee:1", fake::hello(Role::kWorker, 0, kCaller)).or_exit();
    step();
    const std::size_t before = wire_.connected.size();
    callee().break_link(why);
    step();
    pass(3s);
    EXPECT_THAT(wire_.connected, SizeIs(before));
  }
  ASSERT_THAT(seen_.broken, SizeIs(3));
  EXPECT_EQ(seen_.broken[0].second.code(), Code::kLinkBroken);
  EXPECT_EQ(seen_.broken[1].second.code(), Code::kRefused);
  EXPECT_EQ(seen_.broken[2].second.code(), Code::kLinkBroken);
}

TEST_F(CallerTest, ReportsLocalResourceErrorAtOnce) {
  wire_.refusal = {Code::kResource, "no descriptors"};
  callee().break_link();
  pass(20ms);
  ASSERT_THAT(seen_.broken, SizeIs(1));
  EXPECT_EQ(seen_.broken[0].second.code(), Code::kResource);
}

TEST_F(CallerTest, ClosedLinkDoesNotReconnect) {
  callee().break_link();
  step();
  van_.links().close(1);
  pass(1s);
  EXPECT_THAT(wire_.connected, SizeIs(testing::Le(2U)));
  EXPECT_THAT(seen_.broken, IsEmpty());
}

// A callee under script: the conditions for matching a hello to an earlier one.
class HelloAgainTest : public testing::Test {
 protected:
  static constexpr std::uint64_t kName = 4711;

  HelloAgainTest() {
    van_.set_node(kCallee);
    caller_.connect();
    caller_.say(hello());
    step();
  }

  static control::Hello hello() {
    control::Hello hello = fake::hello(Role::kWorker, 0, kCaller);
    hello.session = kName;
    return hello;
  }
  void step() { van_.step(seen_, Duration::zero()); }
  void welcome() {
    van_.send_control(caller_.link(), fake::welcome(kCaller, 0));
    van_.links().admit(caller_.link(), kCaller);
    step();
  }

  sim::VirtualClock clock_;
  fake::Wire wire_;
  fake::Recorder seen_;
  fake::FarEnd caller_{wire_, 101, kCaller};
  fake::FarEnd again_{wire_, 102, kCaller};
  Van van_{fake::scripted_transport(wire_), clock_, {.limits = {.patience = 2s}}};
};

TEST_F(HelloAgainTest, NewLinkGetsPendingAnswerAndOldLinkCloses) {
  again_.connect();
  again_.say(hello());
  step();
  EXPECT_TRUE(caller_.closed());
  EXPECT_THAT(seen_.controls, SizeIs(1)) << "one call";
  welcome();
  EXPECT_TRUE(control::is<control::Welcome>(again_.control()));
  EXPECT_THAT(seen_.broken, IsEmpty());
}

TEST_F(HelloAgainTest, AWelcomeThatWasLostIsSaidAgain) {
  welcome();
  caller_.break_link();
  step();
  again_.connect();
  again_.say(hello());
  step();
  step();
  EXPECT_TRUE(control::is<control::Welcome>(again_.control()));
  again_.say(fake::leave());
  step();
  ASSERT_THAT(seen_.controls, SizeIs(2));
  EXPECT_EQ(seen_.controls[1].first, caller_.link()) << "the session goes by its first link";
}

TEST_F(HelloAgainTest, AnotherTokenIsRefusedAndTheFirstCallStands) {
  control::Hello wrong = hello();
  wrong.token = "guess";
  again_.connect();
  again_.say(wrong);
  step();
  EXPECT_FALSE(caller_.closed());
  const control::Message answer = again_.control();
  ASSERT_TRUE(control::is<control::Fault>(answer));
  EXPECT_THAT(std::get<control::Fault>(answer).why.cause(), HasSubstr("has that name"));
  welcome();
  EXPECT_TRUE(control::is<control::Welcome>(caller_.control()));
}

TEST_F(HelloAgainTest, RejectsRepeatedHelloAfterAnswer) {
  welcome();
  wire::Header header;
  header.received = 1;
  caller_.send(header, control::encode(fake::barrier(1)));
  step();
  again_.connect();
  again_.say(hello());
  step();
  EXPECT_FALSE(caller_.closed());
  const control::Message answer = again_.control();
  ASSERT_TRUE(control::is<control::Fault>(answer));
  EXPECT_THAT(std::get<control::Fault>(answer).why.cause(), HasSubstr("has been answered"));
}

TEST_F(HelloAgainTest, RefusedCallerMaySayHelloAgain) {
  van_.links().refuse(caller_.link(), {Code::kResource, "too many"});
  again_.connect();
  again_.say(hello());
  step();
  EXPECT_THAT(seen_.controls, SizeIs(2)) << "whoever is called says why again";
}

TEST_F(HelloAgainTest, AnotherNameIsAnotherCall) {
  control::Hello other = hello();
  other.session = kName + 1;
  again_.connect();
  again_.say(other);
  step();
  EXPECT_FALSE(caller_.closed());
  EXPECT_THAT(seen_.controls, SizeIs(2));
}

}  // namespace
}  // namespace stretto

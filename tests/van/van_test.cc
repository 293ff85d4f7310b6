// SPDX-License-Identifier: Apache-2.0
// The Van, one frame at a time: admission, refusals, and the credit and acknowledgments that it
// sends to its peers.
#include "van/engine/van.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <thread>

#include "tests/van/van_fixture.h"

namespace stretto {
namespace {

using fake::FarEnd;
using fake::kWorkerNode;
using testing::HasSubstr;

class VanTest : public fake::VanFixture {};

// ---- admission

TEST_F(VanTest, HelloReachesHandlerAndAdmitOpensLink) {
  worker_.connect();
  worker_.say(fake::hello(Role::kWorker, 0));
  step();
  ASSERT_EQ(seen_.controls.size(), 1U);
  EXPECT_TRUE(control::is<control::Hello>(seen_.controls[0].second));
  EXPECT_FALSE(van_.links().is_open(worker_.link()));
  van_.links().admit(worker_.link(), kWorkerNode);
  EXPECT_TRUE(van_.links().is_open(worker_.link()));
  push(1);
  step();
  EXPECT_EQ(seen_.data.size(), 1U);
}

TEST_F(VanTest, DataBeforeHelloClosesLinkSilently) {
  worker_.connect();
  push(1);
  step();
  EXPECT_TRUE(worker_.closed());
  EXPECT_TRUE(seen_.data.empty());
  EXPECT_TRUE(seen_.broken.empty()) << "nobody was ever told of this link";
  EXPECT_EQ(van_.counters().refused, 1U);
}

TEST_F(VanTest, ControlBeforeHelloClosesLink) {
  worker_.connect();
  worker_.say(fake::leave());
  step();
  EXPECT_TRUE(worker_.closed());
  EXPECT_TRUE(seen_.controls.empty());
}

TEST_F(VanTest, LongHelloIsNotDecoded) {
  control::Hello hello = fake::hello(Role::kWorker, 0);
  worker_.connect();
  hello.token = std::string(12288, 't');
  worker_.say(hello);
  step();
  EXPECT_TRUE(worker_.closed());
  EXPECT_TRUE(seen_.controls.empty());
}

TEST_F(VanTest, ASecondHelloBeforeTheAnswerClosesTheLink) {
  worker_.connect();
  worker_.say(fake::hello(Role::kWorker, 0));
  worker_.say(fake::hello(Role::kWorker, 0));
  expect_dropped("second hello");
  EXPECT_EQ(seen_.controls.size(), 1U);
}

TEST_F(VanTest, AHelloAfterAdmissionClosesTheLink) {
  admit_worker();
  worker_.say(fake::hello(Role::kWorker, 1));
  expect_dropped("second hello");
  EXPECT_TRUE(seen_.controls.empty());
}

TEST_F(VanTest, OutgoingLinkTakesWelcomeButNoHello) {
  ASSERT_TRUE(van_.links().connect("there:1", fake::hello(Role::kServer, 0)).ok());
  FarEnd scheduler(wire_, 1, kSchedulerNode);
  step();
  EXPECT_TRUE(control::is<control::Hello>(scheduler.control()));
  scheduler.say(fake::welcome(50, 0));
  step();
  ASSERT_EQ(seen_.controls.size(), 1U);
  EXPECT_TRUE(control::is<control::Welcome>(seen_.controls[0].second));
  scheduler.say(fake::hello(Role::kWorker, 0));
  step();
  EXPECT_TRUE(scheduler.closed());
  ASSERT_EQ(seen_.broken.size(), 1U) << "the handler made this link, so it hears of its end";
}

TEST_F(VanTest, LinkWithoutHelloTimesOut) {
  worker_.connect();
  step();
  pass(4s);
  EXPECT_FALSE(worker_.closed());
  pass(2s);
  EXPECT_TRUE(worker_.closed());
  EXPECT_TRUE(seen_.broken.empty());
  admit_worker();
}

TEST_F(VanTest, FloodOfStrangersLeavesMembersAlone) {
  admit_worker();
  for (LinkId link = 1000; link < 4000; ++link) {
    wire_.events.push_back([link](Transport::Sink& sink) { sink.on_link(link); });
  }
  step();
  EXPECT_EQ(wire_.closed.size(), 3000U - 1024U);
  EXPECT_EQ(wire_.closed.front(), 2024U) << "the newest go";
  push(1);
  step();
  EXPECT_EQ(seen_.data.size(), 1U);
  pass(6s);
  EXPECT_EQ(wire_.closed.size(), 3000U) << "and the silent ones go in their time";
  EXPECT_TRUE(van_.links().is_open(worker_.link()));
}

// ---- events that end a link

TEST_F(VanTest, FrameFromOtherNodeEndsLink) {
  admit_worker();
  worker_.node = 11;
  push(1);
  expect_dropped("says it is from node 11, the link is that of node 10");
  EXPECT_TRUE(seen_.data.empty());
}

TEST_F(VanTest, AGapInTheSequenceEndsTheLink) {
  admit_worker();
  push(1);
  ++worker_.sequence;
  push(2);
  expect_dropped("frame 4 came after frame 2");
  EXPECT_EQ(seen_.broken[0].second.code(), Code::kLinkBroken);
  EXPECT_EQ(seen_.data.size(), 1U);
}

TEST_F(VanTest, ARepeatedFrameEndsTheLink) {
  admit_worker();
  push(1);
  --worker_.sequence;
  push(1);
  expect_dropped("frame 2 came after frame 2");
  EXPECT_EQ(seen_.data.size(), 1U);
}

TEST_F(VanTest, NothingMoreIsHeardAfterTheFrameThatEndedALink) {
  admit_worker();
  worker_.node = 11;
  push(1);
  worker_.node = kWorkerNode;
  push(2);
  step();
  EXPECT_TRUE(seen_.data.empty());
  EXPECT_EQ(seen_.broken.size(), 1U);
}

TEST_F(VanTest, DataBehindEpochFenceIsRefused) {
  admit_worker();
  worker_.epoch = 2;
  push(1);
  step();
  EXPECT_EQ(seen_.data.size(), 1U) << "the fence itself may pass";
  worker_.epoch = 1;
  push(2);
  step();
  EXPECT_EQ(seen_.data.size(), 1U);
  const control::Fault fault = std::get<control::Fault>(worker_.control());
  EXPECT_EQ(fault.why.code(), Code::kRefused);
  EXPECT_THAT(fault.why.cause(), HasSubstr("epoch 1"));
}

TEST_F(VanTest, ControlOfAnOldEpochMayCome) {
  admit_worker();
  worker_.epoch = 0;
  worker_.say(fake::leave());
  step();
  EXPECT_EQ(seen_.controls.size(), 1U);
  EXPECT_TRUE(van_.links().is_open(worker_.link()));
}

TEST_F(VanTest, AnOversizeControlMessageEndsTheLink) {
  admit_worker();
  worker_.send({}, Buffer::allocate(wire::kMaxControlBytes + 1));
  expect_dropped("at most " + std::to_string(wire::kMaxControlBytes));
}

TEST_F(VanTest, GarbageInAControlFrameEndsTheLink) {
  admit_worker();
  worker_.send({}, Buffer::copy_of(std::as_bytes(std::span("\xff\xff\xff not a message"))));
  expect_dropped("cannot be read");
}

TEST_F(VanTest, CreditForUnsentDataEndsLink) {
  admit_worker();
  worker_.credit = 1;
  push(1);
  expect_dropped("1 bytes are credited");
}

TEST_F(VanTest, AcksOfPushesNeverSentEndTheLink) {
  admit_worker();
  worker_.acked = 1;
  push(1);
  expect_dropped("1 pushes are acked, 0 were sent");
}

TEST_F(VanTest, ABreakIsToldOnceAndTheWaitingFramesGo) {
  admit_worker();
  van_.set_windows(1, 1);
  for (int i = 0; i < 3; ++i) van_.send(101, fake::push_header({1, 0}, 1), Buffer::allocate(64));
  step();
  worker_.break_link();
  worker_.break_link();
  step();
  EXPECT_EQ(seen_.broken.size(), 1U);
  EXPECT_TRUE(van_.queue().idle()) << "nothing waits and nothing counts as in flight";
}

TEST_F(VanTest, ALinkThatWeClosedIsHeardOfNoMore) {
  admit_worker();
  van_.links().close(101);
  EXPECT_TRUE(worker_.closed());
  push(1);
  worker_.break_link();
  step();
  EXPECT_TRUE(seen_.data.empty());
  EXPECT_TRUE(seen_.broken.empty());
}

// ---- refusals

TEST_F(VanTest, RefuseSendsAFaultAndClosesTheLinkAfterwards) {
  worker_.connect();
  worker_.say(fake::hello(Role::kWorker, 0));
  seen_.when_control = [this](LinkId link, const control::Message&) {
    van_.links().refuse(link, Status(Code::kRefused, "not today").with_peer("worker 7"));
  };
  step();
  const control::Fault fault = std::get<control::Fault>(worker_.control());
  EXPECT_EQ(fault.why.code(), Code::kRefused);
  EXPECT_EQ(fault.why.cause(), "not today");
  EXPECT_EQ(fault.why.peer(), "worker 7");
  EXPECT_FALSE(worker_.closed()) << "the fault must have time to leave";
  push(1);
  step();
  EXPECT_TRUE(seen_.data.empty()) << "a refused link is not listened to";
  pass(2s);
  EXPECT_TRUE(worker_.closed());
  EXPECT_EQ(van_.counters().refused, 1U);
}

TEST_F(VanTest, AnotherProtocolIsToldSo) {
  worker_.connect();
  wire::Header header;
  header.protocol = 1;
  header.sequence = 1;
  worker_.send_raw(header);
  step();
  EXPECT_THAT(std::get<control::Fault>(worker_.control()).why.cause(),
              HasSubstr("protocol 1, this side speaks 5"));
}

// ---- credit and acknowledgments

TEST_F(VanTest, CreditIsOwedForDataAndToldWithinAMillisecond) {
  admit_worker();
  pass(1s);
  worker_.controls();
  push(1);
  step();
  (void)worker_.data();
  EXPECT_EQ(worker_.heard_credits, 0U) << "it waits for a frame to ride on";
  EXPECT_LE(van_.next_due(), clock_.now() + 1ms);
  pass(1ms);
  (void)worker_.data();
  EXPECT_EQ(worker_.heard_credits, 1U);
  EXPECT_EQ(worker_.heard_credit, wire::kHeaderBytes + 64);
  pass(1s);
  (void)worker_.data();
  EXPECT_EQ(worker_.heard_credits, 1U) << "nothing is told twice";
}

TEST_F(VanTest, CreditRidesOnAFrameThatGoesThatWayAnyhow) {
  admit_worker();
  push(1);
  seen_.when_data = [this](LinkId link) {
    van_.ack(link, 1, false);
    van_.send_control(link, fake::leave());
  };
  step();
  pass(5ms);
  (void)worker_.controls();
  EXPECT_EQ(worker_.heard_credit, wire::kHeaderBytes + 64);
  EXPECT_EQ(worker_.heard_acked, 1U);
  EXPECT_EQ(worker_.heard_credits, 0U);
}

TEST_F(VanTest, MuchCreditIsToldAtOnce) {
  van_.set_windows(4000, 1 << 20);
  admit_worker();
  push(1, 1000);
  step();
  (void)worker_.data();
  EXPECT_EQ(worker_.heard_credits, 1U) << "a quarter of the window must not wait";
}

TEST_F(VanTest, AnUrgentAckIsToldAtOnceAndAPatientOneWaits) {
  admit_worker();
  push(1);
  step();
  van_.ack(101, 1, false);
  step();
  (void)worker_.data();
  EXPECT_EQ(worker_.heard_acked, 0U);
  van_.ack(101, 1, true);
  step();
  (void)worker_.data();
  EXPECT_EQ(worker_.heard_acked, 1U);
}

TEST_F(VanTest, ControlMessagesCostNoCredit) {
  admit_worker();
  worker_.say(fake::leave());
  step();
  pass(1s);
  (void)worker_.data();
  EXPECT_EQ(worker_.heard_credits, 0U);
}

TEST_F(VanTest, PushesAreReportedAckedInOrderAndOnce) {
  admit_worker();
  for (std::uint32_t part = 0; part < 3; ++part) {
    van_.send(101, fake::push_header({1, part}, 1), Buffer::allocate(64));
  }
  step();
  EXPECT_EQ(worker_.data().size(), 3U);
  worker_.acked = 2;
  worker_.say(fake::leave());
  worker_.say(fake::leave());
  step();
  ASSERT_EQ(seen_.acked.size(), 2U);
  EXPECT_EQ(seen_.acked[0].second.key, (wire::Key{1, 0}));
  EXPECT_EQ(seen_.acked[1].second.key, (wire::Key{1, 1}));
}

TEST_F(VanTest, AHandlerMayCloseTheLinkWhileItHearsOfAcks) {
  admit_worker();
  for (std::uint32_t part = 0; part < 3; ++part) {
    van_.send(101, fake::push_header({1, part}, 1), Buffer::allocate(64));
  }
  step();
  (void)worker_.data();
  worker_.acked = 3;
  seen_.when_acked = [this](LinkId link) { van_.links().close(link); };
  worker_.say(fake::leave());
  step();
  EXPECT_EQ(seen_.acked.size(), 1U);
  EXPECT_TRUE(seen_.controls.empty());
}

// ---- sending

TEST_F(VanTest, FramesAreStampedWhenTheyLeave) {
  admit_worker();
  van_.send(101, fake::push_header({1, 0}, 1), Buffer::allocate(64));
  wire::Header pull;
  pull.kind = wire::Kind::kPull;
  van_.send(101, pull, {});
  van_.set_epoch(4, 2);
  step();
  const auto sent = worker_.data();
  ASSERT_EQ(sent.size(), 2U);
  EXPECT_EQ(sent[0].header.epoch, 4U);
  EXPECT_EQ(sent[0].header.sender, 50U);
  EXPECT_EQ(sent[0].header.bytes, 64U);
  EXPECT_EQ(sent[0].header.push_sequence, 1U);
  EXPECT_EQ(sent[1].header.push_sequence, 0U) << "only pushes are numbered among pushes";
  EXPECT_EQ(sent[1].header.sequence, sent[0].header.sequence + 1);
}

TEST_F(VanTest, WindowsHoldDataBackUntilCreditComes) {
  admit_worker();
  van_.set_windows(300, 1000);
  for (int i = 0; i < 3; ++i) van_.send(101, fake::push_header({1, 0}, 1), Buffer::allocate(64));
  step();
  EXPECT_EQ(worker_.data().size(), 2U);
  worker_.say(fake::leave());  // Carries the credit.
  step();
  EXPECT_EQ(worker_.data().size(), 1U);
}

TEST_F(VanTest, AFullLinkKeepsItsFramesAndItsNumbers) {
  admit_worker();
  wire_.full.insert(101);
  van_.send(101, fake::push_header({1, 0}, 1), Buffer::allocate(64));
  van_.send(101, fake::push_header({1, 1}, 1), Buffer::allocate(64));
  step();
  EXPECT_TRUE(worker_.data().empty());
  wire_.full.clear();
  step();
  EXPECT_TRUE(worker_.data().empty()) << "not before the transport says so";
  wire_.events.push_back([](Transport::Sink& sink) { sink.on_writable(101); });
  step();
  const auto sent = worker_.data();  // Checks the sequence.
  ASSERT_EQ(sent.size(), 2U);
  EXPECT_EQ(sent[1].header.push_sequence, 2U);
}

TEST_F(VanTest, UrgentFrameOvertakesWindowedFrames) {
  admit_worker();
  van_.set_windows(100, 100);
  for (std::uint32_t part = 0; part < 3; ++part) {
    van_.send(101, fake::push_header({1, part}, 1), Buffer::allocate(64));
  }
  step();
  wire::Header urgent = fake::push_header({2, 0}, 1);
  urgent.priority = 1;
  van_.send(101, urgent, Buffer::allocate(64));
  EXPECT_EQ(worker_.datum().header.key.tensor, 1U);
  worker_.say(fake::leave());
  step();
  EXPECT_EQ(worker_.datum().header.key.tensor, 2U);
}

TEST_F(VanTest, ToOtherHostsALargeFrameBeginsWithASlice) {
  wire_.local = false;
  admit_worker();
  van_.send(101, fake::push_header({1, 0}, 1), Buffer::allocate(100'000));
  step();
  const auto sent = worker_.data();
  ASSERT_FALSE(sent.empty());
  EXPECT_LT(sent.front().header.bytes, 100'000U);
}

class WholeFrames : public fake::VanFixture {
 protected:
  WholeFrames() : VanFixture(VanOptions{.whole_frames = true}) {}
};

TEST_F(WholeFrames, GoToOtherHostsTooIfAskedFor) {
  wire_.local = false;
  van_.set_windows(150'000, 1'000'000);
  admit_worker();
  for (std::uint32_t part = 0; part < 2; ++part) {
    van_.send(101, fake::push_header({1, part}, 1), Buffer::allocate(100'000));
  }
  step();
  const auto sent = worker_.data();
  ASSERT_EQ(sent.size(), 1U) << "the window is the settings'";
  EXPECT_EQ(sent[0].header.bytes, 100'000U);
}

TEST_F(VanTest, ConnectingCanFailWithTheTransportsWords) {
  wire_.refusal = {Code::kNetwork, "no such host"};
  EXPECT_EQ(van_.links().connect("x:1", {}).status().cause(), "no such host");
  EXPECT_EQ(van_.listen("x:1").status().cause(), "no such host");
}

TEST_F(VanTest, IsDueAtOnceWhenSomethingWasQueued) {
  admit_worker();
  pass(10ms);
  EXPECT_GT(van_.next_due(), clock_.now());
  van_.send_control(101, fake::leave());
  EXPECT_LE(van_.next_due(), clock_.now());
}

TEST(TimeLeft, IsADeadlineOnTheWay) {
  sim::VirtualClock clock;
  const Time now = clock.now();
  EXPECT_EQ(time_left(now + 5us, now), 5U);
  EXPECT_EQ(time_left(now - 5us, now), 1U) << "0 would be none";
  EXPECT_EQ(deadline_in(5, clock), now + 5us);
  EXPECT_EQ(time_left(Time::max(), now), 0U);
  EXPECT_EQ(deadline_in(0, clock), Time::max());
  EXPECT_EQ(deadline_in(~std::uint64_t{0}, clock), Time::max());
}

class VanDeathTest : public fake::VanFixture {};

TEST_F(VanDeathTest, OnlyItsLoopMayChangeItsLinksAndItsQueue) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  const auto elsewhere = [](const std::function<void()>& call) { std::thread(call).join(); };
  elsewhere([this] { van_.queue().pause(7); });  // It has no loop yet.
  step();
  EXPECT_DEATH(elsewhere([this] { van_.queue().pause(7); }), "stretto bug");
  EXPECT_DEATH(elsewhere([this] { van_.links().close(101); }), "stretto bug");
  EXPECT_DEATH(elsewhere([this] { (void)van_.listen("x:1"); }), "stretto bug");
  EXPECT_DEATH(elsewhere([this] { van_.shut(); }), "stretto bug");
  elsewhere([this] { EXPECT_EQ(std::as_const(van_).queue().waiting(), 0U); });
}

}  // namespace
}  // namespace stretto

// SPDX-License-Identifier: Apache-2.0
// What a poll brings finds its session; what a frame was decides on its link; and small frames are
// answered together.
#include "van/engine/transport_events.h"

#include "tests/van/parts_fixture.h"

namespace stretto {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

constexpr NodeId kFarNode = 10;

class TransportEventsTest : public fake::PartsFixture {
 protected:
  void poll() {
    TransportEvents arrivals({lives_, links_, mender_, sender_, receiver_, counters_}, seen_);
    transport_->poll(arrivals, Duration::zero());
  }
  void admit_far() {
    far_.connect();
    far_.say(fake::hello(Role::kWorker, 0));
    poll();
    links_.admit(far_.link(), kFarNode);
  }
  void push(std::size_t bytes) { far_.send(fake::push_header({1, 0}, 1), Buffer::allocate(bytes)); }
  void queue(std::size_t bytes) {
    Frame frame;
    frame.header = fake::push_header({2, 0}, 1);
    frame.payload = Buffer::allocate(bytes);
    sender_.queue().push(far_.link(), std::move(frame));
  }

  fake::FarEnd far_{wire_, 101, kFarNode};
};

TEST_F(TransportEventsTest, ALinkThatCameCarriesASessionOfItsOwn) {
  far_.connect();
  far_.say(fake::hello(Role::kWorker, 0));
  poll();
  EXPECT_NE(lives_.find(far_.link()), nullptr);
  ASSERT_THAT(seen_.controls, SizeIs(1));
  EXPECT_TRUE(control::is<control::Hello>(seen_.controls[0].second));
}

TEST_F(TransportEventsTest, IgnoresFramesOfLinkWithoutSession) {
  far_.say(fake::hello(Role::kWorker, 0));
  poll();
  EXPECT_THAT(seen_.controls, IsEmpty());
  EXPECT_EQ(counters_.frames_in, 0U);
}

TEST_F(TransportEventsTest, AFrameThatBreaksTheRulesEndsItsLink) {
  admit_far();
  far_.node = kFarNode + 1;
  push(64);
  poll();
  EXPECT_THAT(wire_.closed, ElementsAre(far_.link()));
  EXPECT_THAT(seen_.broken, SizeIs(1));
  EXPECT_EQ(counters_.refused, 1U);
  EXPECT_TRUE(lives_.empty());
}

TEST_F(TransportEventsTest, RefusedPeerHearsFaultAndIsIgnored) {
  admit_far();
  receiver_.set_fence(5);
  far_.epoch = 4;
  push(64);
  poll();
  pump();
  ASSERT_THAT(wire_.sent, SizeIs(1));
  EXPECT_EQ(std::get<control::Fault>(sent(0)).why.code(), Code::kRefused);
  EXPECT_THAT(wire_.closed, IsEmpty()) << "the fault must have time to leave";
  const std::uint64_t came = counters_.frames_in;
  push(64);
  poll();
  EXPECT_EQ(counters_.frames_in, came);
}

TEST_F(TransportEventsTest, HandlerMayCloseLinkOfCurrentFrame) {
  admit_far();
  seen_.when_data = [this](LinkId link) { links_.close(link); };
  push(64);
  push(64);
  poll();
  EXPECT_THAT(seen_.data, SizeIs(1));
  EXPECT_THAT(seen_.broken, IsEmpty());
}

TEST_F(TransportEventsTest, ABreakIsOfTheSessionThatTheLinkCarries) {
  admit_far();
  far_.break_link();
  poll();
  ASSERT_THAT(seen_.broken, SizeIs(1));
  EXPECT_EQ(seen_.broken[0].first, far_.link());
}

TEST_F(TransportEventsTest, BlockedFrameLeavesOnWritableEvent) {
  admit_far();
  wire_.full.insert(far_.link());
  queue(64);
  pump();
  wire_.full.clear();
  pump();
  EXPECT_THAT(wire_.sent, IsEmpty()) << "not before the transport says so";
  wire_.events.push_back([this](Transport::Sink& sink) { sink.on_writable(far_.link()); });
  poll();
  pump();
  EXPECT_THAT(wire_.sent, SizeIs(1));
}

TEST_F(TransportEventsTest, FlushesRepliesOnceFramesFillSlice) {
  admit_far();
  seen_.when_data = [this](LinkId) { queue(8); };
  for (int i = 0; i < 2; ++i) push(6000);
  poll();
  EXPECT_THAT(wire_.sent, IsEmpty()) << "the end of the turn would send it";
  for (int i = 0; i < 3; ++i) push(6000);
  poll();
  EXPECT_THAT(wire_.sent, SizeIs(5)) << "three of them make a slice";
}

}  // namespace
}  // namespace stretto

// SPDX-License-Identifier: Apache-2.0
// Connections that come and go while nobody looks, and descriptors that are used again: what libzmq
// hides and the transport has to find out. An innocent link works throughout.
#include <sys/resource.h>

#include <algorithm>

#include "tests/conformance/zmq_fixture.h"

namespace stretto::conformance {
namespace {

using ZmqEnds = ZmqInnocent;

TEST_F(ZmqEnds, AThousandConnectAndLeave) {
  for (int i = 0; i < 1000; ++i) {
    RawTcp stranger(address_);
    if (i % 3 == 0) stranger.send("x");
    if (i % 50 == 0) expect_innocent_works();
  }
  expect_innocent_works();
  EXPECT_EQ(server_.accepted.size(), 1U);
  EXPECT_TRUE(server_.broken.empty());
}

TEST_F(ZmqEnds, HundredsSendOneFrameAndLeave) {
  constexpr std::size_t kMany = 300;
  for (std::size_t i = 0; i < kMany; ++i) {
    const std::size_t frames = server_.frames;
    RawZmq stranger(ZMQ_DEALER, 30'000);  // All of them are taken.
    stranger.connect(address_);
    stranger.send(frame(1));
    // Every third is heard while it is there, the others when they have gone.
    if (i % 3 == 0) {
      ASSERT_TRUE(poll_until([&] { return server_.frames > frames; }));
    }
    if (i % 30 == 2) expect_innocent_works();
  }
  ASSERT_TRUE(poll_until([&] { return server_.broken.size() == kMany; }));
  expect_innocent_works();
  EXPECT_EQ(server_.accepted.size(), kMany + 1);
}

// What has been handed to TCP before an end is delivered before the end is told, in both
// directions.
TEST_F(ZmqEnds, WhatHasLeftIsDeliveredBeforeTheEnd) {
  for (std::size_t round = 1; round <= 20; ++round) {
    End brief(make_endpoint());
    const LinkId there = brief.connect(address_);
    if (round % 2 == 0) {  // The server knows the link before anything of this happens.
      ASSERT_TRUE(until({&server_, &brief}, [&] { return server_.accepted.size() == round + 1; }));
    }
    send_and_leave(brief, there);
    ASSERT_TRUE(poll_until([&] { return server_.broken.size() == round; }));
    EXPECT_EQ(server_.sequences[server_.accepted.back()], numbers(1, 10));

    End listener(make_endpoint());
    const LinkId link = innocent_.connect(listener.listen("127.0.0.1:0"));
    ASSERT_EQ(innocent_.send(link, 1), Sent::kTaken);
    ASSERT_TRUE(until({&listener, &innocent_}, [&] { return listener.frames == 1; }));
    send_and_leave(listener, listener.accepted[0]);
    ASSERT_TRUE(until({&innocent_}, [&] { return innocent_.broken.count(link) == 1; }));
    EXPECT_EQ(innocent_.sequences[link], numbers(1, 10));
    innocent_.broken.clear();
  }
}

// The server does not look while one peer comes, speaks and goes, and another gets its descriptor.
TEST_F(ZmqEnds, ADescriptorUsedAgainUnseenConfusesNobody) {
  for (int round = 0; round < 30; ++round) {
    const std::size_t known = server_.accepted.size();
    End brief(make_endpoint());
    send_and_leave(brief, brief.connect(address_));
    End next(make_endpoint());
    const LinkId next_link = next.connect(address_);
    Lender lender(pattern(20'000, 1));
    ASSERT_EQ(next.send(next_link, 7, lender.lend()), Sent::kTaken);
    ASSERT_TRUE(until({&next}, [&] { return lender.all_ended(); }));
    // Now both have been there and the server has seen neither.
    ASSERT_TRUE(until({&server_, &next}, [&] {
      next.send(next_link, 8);
      return server_.accepted.size() == known + 2 && server_.broken.size() == known;
    }));
    const bool in_order = server_.sequences[server_.accepted[known]].front() == 1;
    const LinkId gone = server_.accepted[in_order ? known : known + 1];
    const LinkId here = server_.accepted[in_order ? known + 1 : known];
    EXPECT_EQ(server_.sequences[gone], numbers(1, 10));
    EXPECT_EQ(server_.broken.count(gone), 1U);
    EXPECT_EQ(server_.broken.count(here), 0U);
    EXPECT_TRUE(next.broken.empty());
    // Closing who has the descriptor now reaches the right one.
    server_.close(here);
    ASSERT_TRUE(until({&server_, &next}, [&] { return next.broken.size() == 1; }));
    server_.broken.emplace(here, Status());
    expect_innocent_works();
  }
}

// The same, but links are closed while nobody can tell which of the two has the descriptor.
TEST_F(ZmqEnds, ClosingOneThatHasGoneHitsNobodyElse) {
  for (int round = 0; round < 30; ++round) {
    server_.when_frame = [this](LinkId link, const wire::Header& header, const Buffer&) {
      if (link == innocent_link()) server_.send(link, header.sequence);
      if (link != innocent_link() && header.sequence < 8) server_.close(link);
    };
    End brief(make_endpoint());
    send_and_leave(brief, brief.connect(address_));
    End next(make_endpoint());
    const LinkId link = next.connect(address_);
    const std::uint64_t first = round % 2 == 0 ? 7 : 8;
    Lender lender(pattern(20'000, 1));
    ASSERT_EQ(next.send(link, first, lender.lend()), Sent::kTaken);
    ASSERT_TRUE(until({&next}, [&] { return lender.all_ended(); }));
    if (first == 7) {  // It is closed with its first frame, and learns of that without saying more.
      ASSERT_TRUE(until({&server_, &next}, [&] { return next.broken.size() == 1; }));
    } else {  // Only the one before it is closed.
      const std::size_t frames = server_.frames;
      ASSERT_TRUE(until({&server_, &next}, [&] { return server_.frames == frames + 2; }));
      expect_innocent_works();
      ASSERT_EQ(next.send(link, 9), Sent::kTaken);
      const LinkId back = server_.accepted.back();
      ASSERT_TRUE(
          until({&server_, &next}, [&] { return server_.sequences[back] == numbers(8, 9); }));
      EXPECT_TRUE(next.broken.empty());
    }
    next.destroy();
    expect_innocent_works();
  }
}

TEST_F(ZmqEnds, AFloodOfConnectionsUnseenHoldsUpNoEnd) {
  // More events than libzmq queues for us (so that its thread stands still), no more connections
  // than the kernel queues for it; then the endpoint ends without having looked.
  for (int i = 0; i < 1'800; ++i) RawTcp stranger(address_);
  server_.destroy();
  EXPECT_TRUE(until({&innocent_}, [&] { return innocent_.broken.size() == 1; }));
}

// Whatever is asked for while descriptors run out is done or refused in words, and nothing dies.
TEST_F(ZmqEnds, TooFewDescriptorsAreAnError) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const int lowest_free = ::dup(0);
  ::close(lowest_free);
  int refused = 0;
  bool enough = false;
  for (rlim_t spare = 0; spare < 500 && !enough; ++spare) {
    rlimit less = before;
    less.rlim_cur = static_cast<rlim_t>(lowest_free) + spare;
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &less), 0);
    const Result<LinkId> link = innocent_.transport().connect(address_);
    Result<std::unique_ptr<Transport>> made = make_zmq_transport({});
    Status status = link.status();
    if (status.ok()) status = made.status();
    if (made.ok()) {
      const Result<std::string> listening = (*made)->listen("127.0.0.1:0");
      if (status.ok()) status = listening.status();
    }
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
    if (link.ok()) innocent_.transport().close(*link);
    enough = status.ok();
    if (enough) continue;
    EXPECT_EQ(status.code(), Code::kResource) << status.text();
    ++refused;
  }
  EXPECT_TRUE(enough);
  EXPECT_GT(refused, 20);
  expect_innocent_works();
}

TEST_F(ZmqEnds, ListeningByAnyNameTellsWhereToConnect) {
  for (const char* name : {"0.0.0.0:0", "localhost:0", "127.0.0.1:0"}) {
    End other(make_endpoint());
    const std::string address = other.listen(name);
    EXPECT_FALSE(address.starts_with("0.0.0.0")) << address;
    const LinkId link = innocent_.connect(address);
    ASSERT_EQ(innocent_.send(link, 1), Sent::kTaken);
    ASSERT_TRUE(until({&innocent_, &other}, [&] { return other.frames == 1; })) << address;
    innocent_.close(link);
  }
}

TEST_F(ZmqEnds, ACrowdThatComesAtOnceIsLetIn) {
  ZmqOptions options;
  options.max_silent = 4;
  End listener(make_zmq_transport(options).or_exit());
  const std::string address = listener.listen("127.0.0.1:0");
  for (int i = 0; i < 60; ++i) innocent_.connect(address);
  RawTcp greeted(address);  // Accepted after them; so when it is, they have been.
  ASSERT_TRUE(until({&innocent_}, [&] { return greeted.was_sent_to(); }));
  ASSERT_TRUE(until({&innocent_, &listener}, [&] { return listener.accepted.size() == 60; }));
  EXPECT_TRUE(innocent_.broken.empty());
  EXPECT_TRUE(listener.broken.empty());
}

TEST_F(ZmqEnds, TheSilentAreHungUpOn) {
  ZmqOptions options;
  options.max_silent = 4;
  options.handshake_timeout = 2s;
  End listener(make_zmq_transport(options).or_exit());
  const std::string address = listener.listen("127.0.0.1:0");
  std::vector<std::unique_ptr<RawTcp>> silent;
  for (int i = 0; i < 20; ++i) silent.push_back(std::make_unique<RawTcp>(address));
  const auto ended = [&] {
    return std::ranges::count_if(silent, [](const auto& one) { return one->ended(); });
  };
  ASSERT_TRUE(until({&listener}, [&] { return ended() >= 16; }));
  ASSERT_TRUE(until({&listener}, [&] { return ended() == 20; }));
  EXPECT_TRUE(listener.accepted.empty());
}

}  // namespace
}  // namespace stretto::conformance

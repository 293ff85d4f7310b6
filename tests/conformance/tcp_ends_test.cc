// SPDX-License-Identifier: Apache-2.0
// Connections that open and close between polls, and reused descriptors. An innocent link works
// throughout.
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

#include "tests/conformance/tcp_fixture.h"
#include "van/transport/path_liveness.h"

namespace stretto::conformance {
namespace {

using TcpEnds = TcpInnocent;

TEST_F(TcpEnds, AThousandConnectAndLeave) {
  for (int i = 0; i < 1000; ++i) {
    RawTcp stranger(address_);
    if (i % 3 == 0) stranger.send("x");
    if (i % 50 == 0) expect_innocent_works();
  }
  expect_innocent_works();
  EXPECT_EQ(server_.accepted.size(), 1U);
  EXPECT_TRUE(server_.broken.empty());
}

TEST_F(TcpEnds, HundredsSendOneFrameAndLeave) {
  constexpr std::size_t kMany = 300;
  for (std::size_t i = 0; i < kMany; ++i) {
    const std::size_t frames = server_.frames;
    RawNode stranger(address_);
    stranger.send(frame(1));
    // Every third frame is received before its link ends, the others with the end.
    if (i % 3 == 0) {
      ASSERT_TRUE(poll_until([&] { return server_.frames > frames; }));
    }
    stranger.leave();
    ASSERT_TRUE(poll_until([&] { return server_.broken.size() == i + 1; }));
    if (i % 30 == 2) expect_innocent_works();
  }
  expect_innocent_works();
  EXPECT_EQ(server_.accepted.size(), kMany + 1);
}

// Data handed to TCP before an end is delivered before the end is reported, in both directions.
TEST_F(TcpEnds, DeliversSentDataBeforeEnd) {
  for (std::size_t round = 1; round <= 20; ++round) {
    End brief(make_endpoint());
    const LinkId there = brief.connect(address_);
    if (round % 2 == 0) {  // The server knows the link beforehand.
      ASSERT_TRUE(until({&server_, &brief}, [&] { return server_.accepted.size() == round + 1; }));
    }
    send_and_leave(brief, there, server_);
    ASSERT_TRUE(poll_until([&] { return server_.broken.size() == round; }));
    EXPECT_EQ(server_.sequences[server_.accepted.back()], numbers(1, 10));

    End listener(make_endpoint());
    const LinkId link = innocent_.connect(listener.listen("127.0.0.1:0"));
    ASSERT_EQ(innocent_.send(link, 1), Sent::kTaken);
    ASSERT_TRUE(until({&listener, &innocent_}, [&] { return listener.frames == 1; }));
    send_and_leave(listener, listener.accepted[0], innocent_);
    ASSERT_TRUE(until({&innocent_}, [&] { return innocent_.broken.count(link) == 1; }));
    EXPECT_EQ(innocent_.sequences[link], numbers(1, 10));
    innocent_.broken.clear();
  }
}

// Between two polls one peer sends and closes while others connect: none is taken for another.
TEST_F(TcpEnds, ReusedDescriptorMixesUpNoLinks) {
  for (int round = 0; round < 30; ++round) {
    const std::size_t known = server_.accepted.size();
    RawNode brief(address_);
    brief.send(frame(1));
    ASSERT_TRUE(poll_until([&] { return server_.accepted.size() == known + 1; }));
    const LinkId gone = server_.accepted[known];
    brief.send(frame(2));
    brief.leave();
    RawNode next(address_);
    next.send(frame(7));
    if (round % 2 == 0) server_.close(gone);
    ASSERT_TRUE(poll_until([&] { return server_.accepted.size() == known + 2; }));
    const LinkId here = server_.accepted[known + 1];
    ASSERT_TRUE(poll_until([&] { return !server_.sequences[here].empty(); }));
    if (round % 2 == 1) {
      ASSERT_TRUE(poll_until([&] { return server_.broken.count(gone) == 1; }));
      EXPECT_EQ(server_.sequences[gone], numbers(1, 2));
    }
    EXPECT_EQ(server_.sequences[here], numbers(7, 7));
    server_.close(here);
    ASSERT_TRUE(poll_until([&] { return next.hung_up_on(); }));
    expect_innocent_works();
  }
}

TEST_F(TcpEnds, AFloodOfConnectionsUnseenHoldsUpNoEnd) {
  // As many connections as the kernel queues; the endpoint ends without polling.
  for (int i = 0; i < 800; ++i) RawTcp stranger(address_);
  server_.destroy();
  EXPECT_TRUE(until({&innocent_}, [&] { return innocent_.broken.size() == 1; }));
}

// Without free descriptors a request succeeds or fails with a status, and no process dies.
TEST_F(TcpEnds, TooFewDescriptorsAreAnError) {
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
    Result<std::unique_ptr<Transport>> made = make_tcp_transport({});
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
  EXPECT_GT(refused, 3);
  expect_innocent_works();
}

TEST_F(TcpEnds, ListeningByAnyNameTellsWhereToConnect) {
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

// Names are looked up while the loop runs. The resolver knows this one without a query.
TEST_F(TcpEnds, NamesAreLookedUp) {
  const LinkId link = innocent_.connect("LocalHost" + address_.substr(address_.find(':')));
  ASSERT_EQ(innocent_.send(link, 1), Sent::kTaken);  // Waits for the connection.
  ASSERT_TRUE(until({&server_, &innocent_}, [&] { return server_.accepted.size() == 2; }));
  ASSERT_TRUE(until({&server_, &innocent_},
                    [&] { return !server_.sequences[server_.accepted[1]].empty(); }));
  EXPECT_TRUE(innocent_.broken.empty());
  const LinkId given_up = innocent_.connect("LocalHost" + address_.substr(address_.find(':')));
  innocent_.close(given_up);
  expect_innocent_works();
}

TEST_F(TcpEnds, UnresolvableNameBreaksLink) {
  const std::string too_long(70, 'x');  // Too long for a label: no lookup.
  const LinkId link = innocent_.connect(too_long + ":9");
  ASSERT_TRUE(until({&server_, &innocent_}, [&] { return innocent_.broken.count(link) == 1; }));
  EXPECT_EQ(innocent_.broken.at(link).code(), Code::kNetwork);
  EXPECT_NE(innocent_.broken.at(link).cause().find("cannot be resolved"), std::string::npos);
  innocent_.broken.clear();
  expect_innocent_works();
}

// The lookup has a thread: either its descriptor or the connection's is missing.
TEST_F(TcpEnds, ADescriptorThatIsLackingForANameIsToldAsThat) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none{.rlim_cur = 0, .rlim_max = before.rlim_max};
  for (const bool at_once : {false, true}) {
    if (at_once) {
      ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
    }
    const LinkId link = innocent_.connect("LocalHost" + address_.substr(address_.find(':')));
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
    const bool told = until({&innocent_}, [&] { return innocent_.broken.count(link) == 1; });
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
    ASSERT_TRUE(told);
    const Status& why = innocent_.broken.at(link);
    EXPECT_EQ(why.code(), Code::kResource) << why.text();
    EXPECT_NE(why.cause().find("ulimit -n"), std::string::npos) << why.text();
    innocent_.broken.clear();
  }
  expect_innocent_works();
}

// Impossible addresses need no lookup.
TEST_F(TcpEnds, LinkLocalAddressIsRefused) {
  const Result<LinkId> link = innocent_.transport().connect("[fe80::1]:9");
  ASSERT_FALSE(link.ok());
  EXPECT_EQ(link.status().code(), Code::kInvalidArgument);
  EXPECT_NE(link.status().cause().find("give a global"), std::string::npos);
}

TEST_F(TcpEnds, Ipv6WithoutBracketsIsRefused) {
  const Result<LinkId> link = innocent_.transport().connect("::1:9");
  ASSERT_FALSE(link.ok());
  EXPECT_EQ(link.status().code(), Code::kInvalidArgument);
  EXPECT_NE(link.status().cause().find("[::1]:9000"), std::string::npos);
  expect_innocent_works();
}

// A separate process connects as a user that may start no threads.
TEST_F(TcpEnds, ANameForWhichThereIsNoThreadIsAnError) {
  const auto asks = [this]() noexcept {
    const rlimit none{.rlim_cur = 0, .rlim_max = 0};
    const bool limited =
        ::setrlimit(RLIMIT_NPROC, &none) == 0 && (::getuid() != 0 || ::setuid(65534) == 0);
    const Result<LinkId> link = innocent_.transport().connect("LocalHost:9");
    return limited && !link.ok() && link.status().code() == Code::kResource;
  };
  const pid_t child = ::fork();
  if (child == 0) ::_exit(asks() ? 0 : 1);
  int how = 0;
  ASSERT_EQ(::waitpid(child, &how, 0), child);
  EXPECT_EQ(how, 0);
  expect_innocent_works();
}

TEST_F(TcpEnds, SlowConnectOrGreetingTimesOut) {
  TcpOptions options;
  options.connect_timeout = options.greeting_timeout = 100ms;
  End hasty(make_tcp_transport(options).or_exit());
  const RawListener silent;  // Its kernel accepts; no handshake follows.
  const RawListener busy(0);
  const RawTcp last(busy.address());  // Its queue has no room for another connection.
  const LinkId greets = hasty.connect(silent.address());
  const LinkId connects = hasty.connect(busy.address());
  const LinkId works = hasty.connect(address_);
  ASSERT_TRUE(until({&hasty, &server_}, [&] { return hasty.broken.size() == 2; }));
  EXPECT_EQ(hasty.broken.at(greets).code(), Code::kNetwork);
  EXPECT_EQ(hasty.broken.at(connects).code(), Code::kNetwork);
  EXPECT_NE(hasty.broken.at(greets).cause().find("too slowly"), std::string::npos);
  EXPECT_EQ(hasty.send(works, 1), Sent::kTaken);
}

TEST_F(TcpEnds, ACrowdThatComesAtOnceIsLetIn) {
  TcpOptions options;
  options.max_pending = 4;
  End listener(make_tcp_transport(options).or_exit());
  const std::string address = listener.listen("127.0.0.1:0");
  for (int i = 0; i < 60; ++i) innocent_.connect(address);
  ASSERT_TRUE(until({&innocent_, &listener}, [&] { return listener.accepted.size() == 60; }));
  EXPECT_TRUE(innocent_.broken.empty());
  EXPECT_TRUE(listener.broken.empty());
}

// Polls far apart look like a suspended process, which must report no silent path.
TEST_F(TcpEnds, LinkBoundsPollWaitByLivenessCheck) {
  const Duration most = PathLiveness::interval(5s);
  for (End* end : {&server_, &innocent_}) {
    end->poll();
    EXPECT_LE(end->transport().may_wait(1min), most);
  }
  End alone(make_endpoint());
  alone.poll();
  EXPECT_EQ(alone.transport().may_wait(1min), 1min);
}

TEST_F(TcpEnds, StrangersAreHungUpOn) {
  TcpOptions options;
  options.max_pending = 4;
  options.handshake_timeout = 2s;
  End listener(make_tcp_transport(options).or_exit());
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

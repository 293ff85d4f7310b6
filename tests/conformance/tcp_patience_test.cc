// SPDX-License-Identifier: Apache-2.0
// Links driven by the test: connection timeouts, by the test's clock and counting only time in
// which the loop ran; and the state after an exception.
#include <poll.h>

#include <functional>
#include <limits>
#include <new>
#include <set>

#include "common/clock.h"
#include "tests/conformance/tcp_fixture.h"
#include "van/tcp/tcp_links.h"

namespace stretto::conformance {
namespace {

std::string listener_greeting() { return greeting(tcp::Side::kListener); }

struct HandedClock final : Clock {
  Time now() const override { return time; }
  Time time = Time(1h);
};

struct Ends final : Transport::Sink {
  void on_link(LinkId link) override { links->admit(link); }
  void on_frame(LinkId, wire::HeaderView, Buffer) override {
    if (no_memory) Buffer::allocate(std::numeric_limits<std::size_t>::max());
  }
  void on_broken(LinkId, Status why) override { broken.push_back(std::move(why)); }
  void on_writable(LinkId link) override {
    writable.insert(link);
    if (no_memory) Buffer::allocate(std::numeric_limits<std::size_t>::max());
  }

  tcp::TcpLinks* links = nullptr;
  std::vector<Status> broken;
  std::set<LinkId> writable;
  bool no_memory = false;
};

class TcpLinksByHand : public testing::Test {
 protected:
  TcpLinksByHand() : links_({.queue_frames = 1}, watch_, clock_) {
    watch_.open().or_exit();
    ends_.links = &links_;
  }

  // As TcpTransport::poll does it.
  void poll() {
    bool woken = false;
    for (const std::uint64_t token : watch_.wait(Duration::zero(), woken)) links_.notice(token);
    links_.receive(ends_, 64);
    links_.look_around(ends_);
    links_.bury();
  }
  void stand_still(Duration time) { clock_.time += time; }
  /// Polls for `time` of the test's clock; the kernel delivers expected data earlier.
  void poll_for(Duration time) {
    for (const Time end = clock_.time + time; clock_.time < end; clock_.time += 250ms) poll();
  }
  void poll_until(const std::function<bool()>& condition) {
    bool met = condition();
    for (int i = 0; i < 10'000 && !met; ++i) {
      poll();
      ::poll(nullptr, 0, 1);
      met = condition();
    }
    ASSERT_TRUE(met);
  }

  HandedClock clock_;
  EpollSet watch_;
  tcp::TcpLinks links_;
  Ends ends_;
  const TcpOptions limits_;
  std::vector<RawTcp> fars_;
};

TEST_F(TcpLinksByHand, StalledLoopDoesNotTimeOutGreeting) {
  const RawListener listener;
  const LinkId link =
      links_.connect(*parse_host_port(listener.address()), listener.address()).or_exit();
  RawTcp far = listener.accept();
  std::string came;
  poll_until([&] { return (came += far.read()).size() == tcp::kGreetingBytes; });
  poll_for(1s);
  far.send(listener_greeting());
  stand_still(2 * limits_.greeting_timeout);
  poll_until([&] { return links_.find(link)->stage() == tcp::Connection::Stage::kOpen; });
  poll_for(limits_.greeting_timeout + 2s);
  EXPECT_TRUE(ends_.broken.empty());
}

TEST_F(TcpLinksByHand, IncompleteGreetingTimesOut) {
  const RawListener listener;
  links_.connect(*parse_host_port(listener.address()), listener.address()).or_exit();
  RawTcp far = listener.accept();
  poll_until([&] { return far.was_sent_to(); });
  far.send(listener_greeting().substr(0, 15));  // Incomplete.
  poll_for(limits_.greeting_timeout - 1s);
  EXPECT_TRUE(ends_.broken.empty());
  poll_for(3s);
  ASSERT_EQ(ends_.broken.size(), 1U);
  EXPECT_NE(ends_.broken[0].cause().find("too slowly"), std::string::npos);
}

TEST_F(TcpLinksByHand, StalledLoopDoesNotTimeOutHandshake) {
  links_.listen(tcp::ListeningSocket::open("127.0.0.1:0", watch_, tcp::kListenerToken).or_exit());
  RawTcp far(links_.address());
  poll_until([&] { return far.was_sent_to(); });
  poll_for(1s);
  far.send(greeting());
  stand_still(2 * limits_.handshake_timeout);
  poll_until([&] { return links_.size() == 1; });
  poll_for(limits_.handshake_timeout + 2s);
  EXPECT_EQ(links_.size(), 1U);
}

TEST_F(TcpLinksByHand, CallbackExceptionLosesNoWritableEvent) {
  const RawListener listener;
  const Buffer payload = Buffer::allocate(10'000);
  std::set<LinkId> full;
  for (int i = 0; i < 2; ++i) {
    const LinkId link =
        links_.connect(*parse_host_port(listener.address()), listener.address()).or_exit();
    EXPECT_EQ(links_.writer().send(link, wire::Header(), payload), Sent::kTaken);
    EXPECT_EQ(links_.writer().send(link, wire::Header(), payload), Sent::kFull);
    full.insert(link);
    RawTcp far = listener.accept();
    far.send(listener_greeting());
    std::size_t came = 0;
    poll_until([&] { return (came += far.read().size()) > payload.size(); });
    fars_.push_back(std::move(far));
  }
  ends_.no_memory = true;
  EXPECT_THROW(links_.writer().offer_room(ends_), std::bad_alloc);
  ends_.no_memory = false;
  links_.writer().offer_room(ends_);
  EXPECT_EQ(ends_.writable, full);
}

TEST_F(TcpLinksByHand, LinkBreaksAfterFrameLostToException) {
  const RawListener listener;
  links_.connect(*parse_host_port(listener.address()), listener.address()).or_exit();
  RawTcp far = listener.accept();
  ends_.no_memory = true;
  far.send(listener_greeting() + frame(1, 100));
  EXPECT_THROW(poll_until([] { return false; }), std::bad_alloc);
  ends_.no_memory = false;
  poll();
  EXPECT_EQ(ends_.broken.size(), 1U);
}

}  // namespace
}  // namespace stretto::conformance

// SPDX-License-Identifier: Apache-2.0
// Strangers at a ZeroMQ endpoint: raw TCP, ZMTP that is not ours, floods, descriptors used again. In
// every test an innocent link works throughout, and what is told of the others is told once.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>
#include <zmq.h>

#include <cstring>
#include <numeric>

#include "common/config.h"
#include "tests/conformance/conformance.h"
#include "van/zmq/zmq_transport.h"

namespace stretto::conformance {
namespace {

using Sent = Transport::Sent;
using Parts = std::vector<std::string>;

constexpr std::size_t kMostPayload = 64 * 1024;

std::unique_ptr<Transport> make_endpoint() {
  ZmqOptions options;
  options.max_payload_bytes = kMostPayload;
  options.queue_frames = 64;
  return make_zmq_transport(options).or_exit();
}

sockaddr_in socket_address(const std::string& address) {
  const HostPort parsed = *parse_host_port(address);
  sockaddr_in result{};
  result.sin_family = AF_INET;
  result.sin_port = htons(parsed.port);
  inet_pton(AF_INET, parsed.host.c_str(), &result.sin_addr);
  return result;
}

/// A TCP connection that knows nothing of ZMTP.
class RawTcp {
 public:
  explicit RawTcp(const std::string& address) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    const sockaddr_in to = socket_address(address);
    EXPECT_EQ(::connect(socket_, reinterpret_cast<const sockaddr*>(&to), sizeof to), 0);
  }
  ~RawTcp() { ::close(socket_); }
  RawTcp(const RawTcp&) = delete;
  RawTcp& operator=(const RawTcp&) = delete;

  void send(std::string_view bytes) {
    // The far end may have hung up already, which is its right.
    if (::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL) < 0) return;
  }
  /// True once the far end has hung up.
  bool ended() {
    char bytes[256];
    const ssize_t count = ::recv(socket_, bytes, sizeof bytes, MSG_DONTWAIT);
    return count == 0 || (count < 0 && errno != EAGAIN);
  }

 private:
  int socket_;
};

/// A libzmq socket of a program that is not ours. What it sent leaves before it goes; if it is hung
/// up on it does not come back.
class RawZmq {
 public:
  explicit RawZmq(int type) : context_(zmq_ctx_new()), socket_(zmq_socket(context_, type)) {
    set(ZMQ_LINGER, 200);
    set(ZMQ_RECONNECT_IVL, -1);
    zmq_socket_monitor(socket_, "inproc://ends", ZMQ_EVENT_DISCONNECTED);
    ends_ = zmq_socket(context_, ZMQ_PAIR);
    zmq_connect(ends_, "inproc://ends");
  }
  ~RawZmq() {
    zmq_close(ends_);
    zmq_close(socket_);
    zmq_ctx_term(context_);
  }
  RawZmq(const RawZmq&) = delete;
  RawZmq& operator=(const RawZmq&) = delete;

  void name(const std::string& id) {
    zmq_setsockopt(socket_, ZMQ_ROUTING_ID, id.data(), id.size());
  }
  void connect(const std::string& address) {
    EXPECT_EQ(zmq_connect(socket_, ("tcp://" + address).c_str()), 0);
  }
  std::string bind() {
    EXPECT_EQ(zmq_bind(socket_, "tcp://127.0.0.1:*"), 0);
    char bound[256];
    std::size_t size = sizeof bound;
    zmq_getsockopt(socket_, ZMQ_LAST_ENDPOINT, bound, &size);
    return bound + std::strlen("tcp://");
  }
  void send(const Parts& parts) {
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const int more = i + 1 < parts.size() ? ZMQ_SNDMORE : 0;
      if (zmq_send(socket_, parts[i].data(), parts[i].size(), ZMQ_DONTWAIT | more) < 0) return;
    }
  }
  bool hung_up_on() {
    char event[8];
    return zmq_recv(ends_, event, sizeof event, ZMQ_DONTWAIT) > 0;
  }
  /// The next message, if there is one.
  Parts receive() {
    Parts parts;
    do {
      std::string part(1 << 20, '\0');
      const int size = zmq_recv(socket_, part.data(), part.size(), ZMQ_DONTWAIT);
      if (size < 0) return parts;
      part.resize(static_cast<std::size_t>(size));
      parts.push_back(std::move(part));
    } while (more());
    return parts;
  }

 private:
  void set(int option, int value) { zmq_setsockopt(socket_, option, &value, sizeof value); }
  bool more() {
    int more = 0;
    std::size_t size = sizeof more;
    return zmq_getsockopt(socket_, ZMQ_RCVMORE, &more, &size) == 0 && more != 0;
  }

  void* context_;
  void* socket_;
  void* ends_;
};

/// A frame as it is on the wire.
Parts frame(std::uint64_t sequence, std::size_t payload_bytes = 0) {
  wire::Header header;
  header.sequence = sequence;
  header.bytes = static_cast<std::uint32_t>(payload_bytes);
  const wire::HeaderBytes bytes = wire::encode(header);
  std::string text(bytes.size(), '\0');
  std::memcpy(text.data(), bytes.data(), bytes.size());
  return {text, std::string(payload_bytes, 'x')};
}

const std::vector<Parts>& wrong_shapes() {
  static const std::vector<Parts> shapes = {
      {"hello"},
      {std::string(128, 'h')},
      {"", ""},
      {"", std::string(128, 'h')},
      {std::string(127, 'h'), "payload"},
      {std::string(129, 'h'), ""},
      {std::string(128, 'h'), "payload", ""},
      {"", std::string(128, 'h'), "payload"},
      Parts(5'000, std::string(100, 'p')),
  };
  return shapes;
}

/// An endpoint that listens, and an innocent link to it.
class ZmqHostile : public testing::Test {
 protected:
  ZmqHostile() : server_(make_endpoint()), innocent_(make_endpoint()) {
    address_ = server_.listen("127.0.0.1:0");
    link_ = innocent_.connect(address_);
    server_.when_frame = [this](LinkId link, const wire::Header& header, const Buffer&) {
      if (link == innocent_link()) server_.send(link, header.sequence);
    };
    expect_innocent_works();
  }

  LinkId innocent_link() const { return server_.accepted.empty() ? 0 : server_.accepted.front(); }

  void expect_innocent_works() {
    const std::size_t before = innocent_.frames;
    for (std::uint64_t i = 0; i < 20; ++i) ASSERT_EQ(innocent_.send(link_, i), Sent::kTaken);
    ASSERT_TRUE(until({&innocent_, &server_}, [&] { return innocent_.frames == before + 20; }));
    EXPECT_TRUE(innocent_.broken.empty());
    EXPECT_EQ(server_.broken.count(innocent_link()), 0U);
  }

  /// Sends frames 1 to 10, and ends the endpoint as soon as they have been handed to TCP.
  static void send_and_leave(End& end, LinkId link) {
    Lender lender(pattern(4'000, 1));
    for (std::uint64_t i = 1; i <= 10; ++i) {
      ASSERT_EQ(end.send(link, i, lender.lend()), Sent::kTaken);
    }
    ASSERT_TRUE(until({&end}, [&] { return lender.all_ended(); }));
    end.destroy();
  }

  bool poll_until(const std::function<bool()>& condition) { return until({&server_}, condition); }

  End server_;
  End innocent_;
  std::string address_;
  LinkId link_ = 0;
};

TEST_F(ZmqHostile, GarbageOverTcpIsNoLink) {
  const std::string greeting("\xff\0\0\0\0\0\0\0\x01\x7f\x03\0NULL", 16);
  const std::string texts[] = {"",
                               "GET / HTTP/1.0\r\n\r\n",
                               std::string(100'000, '\xff'),
                               std::string(100'000, '\0'),
                               greeting,
                               greeting + std::string(48, '\0') + std::string(5'000, '\xa5'),
                               greeting + std::string(48, '\0') + std::string("\x04\xff\x05READY", 8),
                               std::string("\x02\xff\xff\xff\xff\xff\xff\xff\x7f", 9)};
  std::vector<std::unique_ptr<RawTcp>> open;
  for (int round = 0; round < 10; ++round) {
    for (const std::string& text : texts) {
      open.push_back(std::make_unique<RawTcp>(address_));
      open.back()->send(text);
      if (round % 2 == 0) open.pop_back();
    }
    expect_innocent_works();
  }
  open.clear();
  expect_innocent_works();
  EXPECT_EQ(server_.accepted.size(), 1U);
  EXPECT_TRUE(server_.broken.empty());
}

TEST_F(ZmqHostile, AFirstMessageOfAnotherShapeIsNoLink) {
  for (const Parts& shape : wrong_shapes()) {
    RawZmq stranger(ZMQ_DEALER);
    stranger.connect(address_);
    for (int i = 0; i < 5; ++i) stranger.send(shape);
    stranger.send(frame(1));  // Too late.
    ASSERT_TRUE(poll_until([&] { return stranger.hung_up_on(); }));
    expect_innocent_works();
  }
  EXPECT_EQ(server_.accepted.size(), 1U);
  EXPECT_TRUE(server_.broken.empty());
}

TEST_F(ZmqHostile, ALaterMessageOfAnotherShapeBreaksItsLinkOnce) {
  std::vector<Parts> shapes = wrong_shapes();
  shapes.push_back({""});  // A hello is only the first message.
  for (const Parts& shape : shapes) {
    const std::size_t known = server_.accepted.size();
    const std::size_t broken = server_.broken.size();
    RawZmq stranger(ZMQ_DEALER);
    stranger.connect(address_);
    stranger.send(frame(1, 10'000));
    stranger.send(shape);
    for (std::uint64_t i = 2; i < 40; ++i) stranger.send(frame(i));
    ASSERT_TRUE(poll_until([&] { return server_.broken.size() > broken; }));
    const LinkId link = server_.accepted[known];
    EXPECT_EQ(server_.broken.at(link).code(), Code::kMalformed);
    EXPECT_EQ(server_.sequences[link], numbers(1, 1));
    ASSERT_TRUE(poll_until([&] { return stranger.hung_up_on(); }));
    expect_innocent_works();
  }
  EXPECT_EQ(server_.broken.size(), shapes.size());
}

TEST_F(ZmqHostile, AnOversizePartEndsItsConnection) {
  RawZmq stranger(ZMQ_DEALER);
  stranger.connect(address_);
  stranger.send(frame(1, kMostPayload));
  ASSERT_TRUE(poll_until([&] { return server_.frames == 21; }));
  const LinkId link = server_.accepted.back();
  stranger.send(frame(2, kMostPayload + 1));
  ASSERT_TRUE(poll_until([&] { return server_.broken.count(link) == 1; }));
  EXPECT_EQ(server_.sequences[link], numbers(1, 1));
  expect_innocent_works();
}

TEST_F(ZmqHostile, ThoseWhoNameThemselvesAreNoLink) {
  for (const std::string& name : {std::string("me"), std::string(255, 'n'), std::string("me")}) {
    RawZmq stranger(ZMQ_DEALER);
    stranger.name(name);
    stranger.connect(address_);
    for (std::uint64_t i = 1; i < 10; ++i) stranger.send(frame(i));
    ASSERT_TRUE(poll_until([&] { return stranger.hung_up_on(); }));
    expect_innocent_works();
  }
  EXPECT_EQ(server_.accepted.size(), 1U);
}

// A name of the form that a ROUTER gives passes for one, but only once.
TEST_F(ZmqHostile, ANameUsedAgainIsIgnored) {
  for (int round = 0; round < 20; ++round) {
    RawZmq stranger(ZMQ_DEALER);
    stranger.name(std::string("\0abcd", 5));
    stranger.connect(address_);
    stranger.send(frame(1));
    if (round % 2 == 0) expect_innocent_works();
  }
  ASSERT_TRUE(poll_until([&] { return server_.broken.size() + 1 == server_.accepted.size(); }));
  EXPECT_LE(server_.accepted.size(), 2U);
  expect_innocent_works();
}

TEST_F(ZmqHostile, AThousandConnectAndLeave) {
  for (int i = 0; i < 1000; ++i) {
    RawTcp stranger(address_);
    if (i % 3 == 0) stranger.send("x");
    if (i % 50 == 0) expect_innocent_works();
  }
  expect_innocent_works();
  EXPECT_EQ(server_.accepted.size(), 1U);
  EXPECT_TRUE(server_.broken.empty());
}

TEST_F(ZmqHostile, HundredsSendOneFrameAndLeave) {
  constexpr std::size_t kMany = 300;
  for (std::size_t i = 0; i < kMany; ++i) {
    const std::size_t frames = server_.frames;
    RawZmq stranger(ZMQ_DEALER);
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

// What has been handed to TCP before an end is delivered before the end is told, in both directions.
TEST_F(ZmqHostile, WhatHasLeftIsDeliveredBeforeTheEnd) {
  for (std::size_t round = 1; round <= 20; ++round) {
    End brief(make_endpoint());
    send_and_leave(brief, brief.connect(address_));
    ASSERT_TRUE(poll_until([&] { return server_.broken.size() == round; }));
    EXPECT_EQ(server_.sequences[server_.accepted.back()], numbers(1, 10));

    End listener(make_endpoint());
    const LinkId link = innocent_.connect(listener.listen("127.0.0.1:0"));
    ASSERT_EQ(innocent_.send(link, 1), Sent::kTaken);
    ASSERT_TRUE(until({&listener}, [&] { return listener.frames == 1; }));
    send_and_leave(listener, listener.accepted[0]);
    ASSERT_TRUE(until({&innocent_}, [&] { return innocent_.broken.count(link) == 1; }));
    EXPECT_EQ(innocent_.sequences[link], numbers(1, 10));
    innocent_.broken.clear();
  }
}

// The server does not look while one peer comes, speaks and goes, and another gets its descriptor.
TEST_F(ZmqHostile, ADescriptorUsedAgainUnseenConfusesNobody) {
  for (int round = 0; round < 30; ++round) {
    const std::size_t known = server_.accepted.size();
    End brief(make_endpoint());
    send_and_leave(brief, brief.connect(address_));
    End next(make_endpoint());
    const LinkId next_link = next.connect(address_);
    Lender lender(pattern(4'000, 1));
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

TEST_F(ZmqHostile, AFloodOfConnectionsUnseenHoldsUpNoEnd) {
  // More events than libzmq queues for us (so that its thread stands still), no more connections
  // than the kernel queues for it; then the endpoint ends without having looked.
  for (int i = 0; i < 1'800; ++i) RawTcp stranger(address_);
  server_.destroy();
  EXPECT_TRUE(until({&innocent_}, [&] { return innocent_.broken.size() == 1; }));
}

TEST_F(ZmqHostile, MoreLinksThanAllowedAreRefused) {
  ZmqOptions options;
  options.max_links = 4;
  End small(make_zmq_transport(options).or_exit());
  const std::string address = small.listen("127.0.0.1:0");
  std::vector<std::unique_ptr<End>> many;
  std::vector<End*> all = {&small};
  for (int i = 0; i < 8; ++i) {
    many.push_back(std::make_unique<End>(make_endpoint()));
    all.push_back(many.back().get());
    many.back()->connect(address);
  }
  const auto refused = [&] {
    return std::accumulate(many.begin(), many.end(), std::size_t{0}, [](std::size_t sum, auto& end) {
      return sum + end->broken.size();
    });
  };
  ASSERT_TRUE(until(all, [&] { return small.accepted.size() == 4 && refused() == 4; }));
  const Result<LinkId> connected = small.transport().connect(address_);
  ASSERT_FALSE(connected.ok());
  EXPECT_EQ(connected.status().code(), Code::kResource);
}

TEST_F(ZmqHostile, WhatAnswersWithAnotherShapeBreaksTheLinkOnce) {
  for (const Parts& shape : wrong_shapes()) {
    RawZmq fake(ZMQ_ROUTER);
    const LinkId link = innocent_.connect(fake.bind());
    ASSERT_EQ(innocent_.send(link, 1), Sent::kTaken);
    Parts came;
    ASSERT_TRUE(until({&innocent_}, [&] { return !(came = fake.receive()).empty(); }));
    Parts reply = {came[0]};
    reply.insert(reply.end(), shape.begin(), shape.end());
    const Parts good = frame(5, 100);
    fake.send({came[0], good[0], good[1]});
    fake.send(reply);
    fake.send({came[0], good[0], good[1]});
    ASSERT_TRUE(until({&innocent_}, [&] { return innocent_.broken.count(link) == 1; }));
    EXPECT_EQ(innocent_.broken.at(link).code(), Code::kMalformed);
    EXPECT_EQ(innocent_.sequences[link], numbers(5, 5));
    innocent_.broken.clear();
  }
  expect_innocent_works();
}

TEST_F(ZmqHostile, AListenerThatIsNoNodeBreaksTheLinkOnce) {
  const int listener = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in at = socket_address("127.0.0.1:0");
  auto* name = reinterpret_cast<sockaddr*>(&at);
  socklen_t size = sizeof at;
  ASSERT_EQ(::bind(listener, name, size), 0);
  ASSERT_EQ(::listen(listener, 8), 0);
  ASSERT_EQ(::getsockname(listener, name, &size), 0);
  const std::string address = "127.0.0.1:" + std::to_string(ntohs(at.sin_port));
  for (const std::string_view text : {"", "HTTP/1.0 400 Bad Request\r\n\r\n"}) {
    const LinkId link = innocent_.connect(address);
    const int peer = ::accept(listener, nullptr, nullptr);
    ASSERT_GE(::send(peer, text.data(), text.size(), MSG_NOSIGNAL), 0);
    ::close(peer);
    ASSERT_TRUE(until({&innocent_}, [&] { return innocent_.broken.count(link) == 1; }));
    EXPECT_EQ(innocent_.broken.at(link).code(), Code::kLinkBroken);
    innocent_.broken.clear();
  }
  ::close(listener);
  expect_innocent_works();
}

}  // namespace
}  // namespace stretto::conformance

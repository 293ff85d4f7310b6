// SPDX-License-Identifier: Apache-2.0
// Strangers at a ZeroMQ endpoint: raw TCP, ZMTP that is not ours, wrong shapes, too much. In every
// test an innocent link works throughout, and what is told of the others is told once.
#include <numeric>

#include "tests/conformance/zmq_fixture.h"

namespace stretto::conformance {
namespace {

using ZmqHostile = ZmqInnocent;

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

TEST_F(ZmqHostile, GarbageOverTcpIsNoLink) {
  const std::string greeting("\xff\0\0\0\0\0\0\0\x01\x7f\x03\0NULL", 16);
  const std::string texts[] = {
      "",
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
    return std::accumulate(many.begin(), many.end(), std::size_t{0},
                           [](std::size_t sum, auto& end) { return sum + end->broken.size(); });
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

// SPDX-License-Identifier: Apache-2.0
// Hostile peers of a zmq endpoint: raw TCP, wrong shapes, endless parts, half handshakes, many
// connections, other keys. In every test an innocent link works throughout.
#include <sys/resource.h>
#include <sys/wait.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <thread>

#include "common/clock.h"
#include "common/memory.h"
#include "tests/common/effort.h"
#include "tests/conformance/zmq_fixture.h"

namespace stretto::conformance::libzmq {
namespace {

// A sanitizer's memory per connection depends on the machine: up to eight times the normal.
constexpr std::size_t kMostGrowth = std::size_t{kLess == 1 ? 64 : 512} << 20;

class ZmqHostile : public ZmqInnocent {
 protected:
  ZmqHostile() : ZmqInnocent(ZmqMechanism::kNull) {}
};
class ZmqGuarded : public ZmqInnocent, public testing::WithParamInterface<ZmqMechanism> {
 protected:
  ZmqGuarded() : ZmqInnocent(GetParam()) {}
};
INSTANTIATE_TEST_SUITE_P(Mechanisms, ZmqGuarded,
                         testing::Values(ZmqMechanism::kPlain, ZmqMechanism::kCurve),
                         [](const auto& about) {
                           return about.param == ZmqMechanism::kPlain ? "plain" : "curve";
                         });

// Two headers, and lengths of payloads, with `bytes` bytes.
Message two_frames(std::uint32_t first, std::uint32_t second, std::size_t bytes) {
  const std::uint32_t lengths[] = {first, second};
  std::string payloads(sizeof lengths, '\0');
  std::memcpy(payloads.data(), lengths, sizeof lengths);
  return {header_text(1, first) + header_text(2, second), payloads + std::string(bytes, 'x')};
}

const std::vector<Message>& wrong_messages() {
  static const std::vector<Message> shapes = {
      {"hello"},
      {std::string(128, 'h')},
      {"", ""},
      {std::string(127, 'h'), "payload"},
      {std::string(129, 'h'), ""},
      {std::string(128, 'h'), "payload", ""},
      Message(5'000, std::string(10, 'p')),
      {std::string(256, 'h'), ""},
      two_frames(4, 3, 8),
      two_frames(~0U, 9, 8),
      {std::string(std::size_t{128} * 257, 'h'), std::string(std::size_t{4} * 257, '\0')},
  };
  return shapes;
}

void send_all_garbage(const std::string& address, const std::function<void()>& works) {
  const std::string texts[] = {"",
                               "GET / HTTP/1.0\r\n\r\n",
                               std::string(100'000, '\xff'),
                               std::string(100'000, '\0'),
                               greeting("NULL").substr(0, 16),
                               greeting("NULL") + std::string(5'000, '\xa5'),
                               greeting("PLAIN") + std::string("\x04\xff\x05HELLO", 8),
                               greeting("CURVE") + std::string("\x04\xc8\x05HELLO\x01", 9),
                               std::string("\x02\xff\xff\xff\xff\xff\xff\xff\x7f", 9)};
  send_garbage(address, texts, works);
}

TEST_F(ZmqHostile, GarbageIsNoLink) {
  send_all_garbage(address_, [this] { expect_innocent_works(); });
  EXPECT_TRUE(server_.broken.empty());
}

TEST_P(ZmqGuarded, GarbageIsNoLink) {
  send_all_garbage(address_, [this] { expect_innocent_works(); });
  EXPECT_EQ(server_.accepted.size(), 1U);
}

TEST_F(ZmqHostile, FirstMessageOfWrongShapeIsNoLink) {
  for (const Message& shape : wrong_messages()) {
    Peer stranger(ZMQ_DEALER);
    stranger.connect(address_);
    for (int i = 0; i < 5; ++i) stranger.send(shape);
    stranger.send(good_frame(1));  // Too late.
    ASSERT_TRUE(poll_until([&] { return stranger.hung_up_on(); }));
    expect_innocent_works();
  }
  EXPECT_EQ(server_.accepted.size(), 1U);
}

TEST_F(ZmqHostile, LaterMessageOfWrongShapeBreaksLinkOnce) {
  for (const Message& shape : wrong_messages()) {
    const std::size_t known = server_.accepted.size();
    const std::size_t broken = server_.broken.size();
    Peer stranger(ZMQ_DEALER);
    stranger.connect(address_);
    stranger.send(good_frame(1, 10'000));
    stranger.send(shape);
    for (std::uint64_t i = 2; i < 40; ++i) stranger.send(good_frame(i));
    ASSERT_TRUE(poll_until([&] { return server_.broken.size() > broken; }));
    const LinkId link = server_.accepted[known];
    EXPECT_EQ(server_.broken.at(link).code(), Code::kMalformed);
    EXPECT_EQ(server_.sequences[link], numbers(1, 1));
    ASSERT_TRUE(poll_until([&] { return stranger.hung_up_on(); }));
    expect_innocent_works();
  }
  EXPECT_EQ(server_.broken.size(), wrong_messages().size());
}

// libzmq takes incoming messages for commands until its own READY has left.
void open_as_dealer(RawTcp& stranger) {
  stranger.send(greeting("NULL") + null_ready());
  const Time late = SteadyClock().now() + 10s;
  for (std::string said; said.find("READY") == std::string::npos;) {
    ASSERT_LT(SteadyClock().now(), late);
    said += stranger.read();
  }
}

// After a length was changed in transit, later frames count as parts of one message.
TEST_F(ZmqHostile, FrameWithoutItsRestBreaksLink) {
  RawTcp stranger(address_);
  open_as_dealer(stranger);
  const auto part = [](bool more, const std::string& bytes) {
    std::string text(1, more ? '\x03' : '\x02');  // A long frame.
    for (int shift = 56; shift >= 0; shift -= 8) {
      text.push_back(static_cast<char>(bytes.size() >> shift));
    }
    return text + bytes;
  };
  stranger.send(part(true, header_text(1, 100)) + part(false, std::string(100, 'x')));
  ASSERT_TRUE(poll_until([&] { return server_.accepted.size() == 2; }));
  server_.transport().set_dead_after(300ms);
  stranger.send(part(true, header_text(2, 0)) + part(false, std::string(30'000, 'x')).substr(0, 9));
  const LinkId link = server_.accepted.back();
  Time next = SteadyClock().now();
  ASSERT_TRUE(poll_until([&] {
    if (SteadyClock().now() >= next) {
      stranger.send("x");
      next += 10ms;
    }
    return server_.broken.count(link) == 1;
  }));
  EXPECT_EQ(server_.broken.at(link).code(), Code::kLinkBroken);
  EXPECT_NE(server_.broken.at(link).cause().find("in part"), std::string::npos);
  EXPECT_EQ(server_.sequences[link], numbers(1, 1));
  expect_innocent_works();
}

TEST_F(ZmqHostile, WrongAnswerBreaksLinkOnce) {
  for (const Message& shape : wrong_messages()) {
    Peer fake(ZMQ_ROUTER);
    const LinkId link = innocent_.connect(fake.bind());
    Message came;
    ASSERT_TRUE(until({&innocent_}, [&] { return !(came = fake.receive()).empty(); }));
    Message reply = {came[0]};
    reply.insert(reply.end(), shape.begin(), shape.end());
    const Message good = good_frame(5, 100);
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

TEST_F(ZmqHostile, OversizePartEndsItsConnection) {
  Peer stranger(ZMQ_DEALER);
  stranger.connect(address_);
  stranger.send(good_frame(1, kMostPayload));
  ASSERT_TRUE(poll_until([&] { return server_.frames == 21; }));
  const LinkId link = server_.accepted.back();
  stranger.send({header_text(2, 1), std::string(1 << 20, 'x')});
  ASSERT_TRUE(poll_until([&] { return server_.broken.count(link) == 1; }));
  EXPECT_EQ(server_.sequences[link], numbers(1, 1));
  expect_innocent_works();
}

TEST_F(ZmqHostile, PeerWithAnothersIdIsNoLink) {
  Peer first(ZMQ_DEALER);
  first.name("one name");
  first.connect(address_);
  first.send(good_frame(1));
  ASSERT_TRUE(poll_until([&] { return server_.accepted.size() == 2; }));
  const LinkId link = server_.accepted.back();
  Peer second(ZMQ_DEALER);
  second.name("one name");
  second.connect(address_);
  second.send(good_frame(2));
  ASSERT_TRUE(poll_until([&] { return second.hung_up_on(); }));
  first.send(good_frame(2));
  ASSERT_TRUE(poll_until([&] { return server_.sequences[link].size() == 2; }));
  EXPECT_EQ(server_.accepted.size(), 2U);
  expect_innocent_works();
}

TEST_F(ZmqHostile, MoreLinksThanAllowedAreRefused) {
  ZmqOptions options = options_of(ZmqMechanism::kNull);
  options.max_links = 4;
  End small(make_zmq_transport(options).or_exit());
  const std::string address = small.listen("127.0.0.1:0");
  std::vector<std::unique_ptr<End>> many;
  std::vector<End*> all = {&small};
  std::size_t refused = 0;
  for (int i = 0; i < 8; ++i) {
    many.push_back(std::make_unique<End>(make_end(ZmqMechanism::kNull)));
    many.back()->when_broken = [&refused](LinkId) { ++refused; };
    all.push_back(many.back().get());
    ASSERT_EQ(many.back()->send(many.back()->connect(address), 1), Sent::kTaken);
  }
  ASSERT_TRUE(until(all, [&] { return small.accepted.size() == 4 && refused == 4; }));
}

TEST_F(ZmqHostile, ListenerThatIsNoNodeBreaksLinkOnce) {
  const RawListener listener;
  for (const std::string_view text : {"", "HTTP/1.0 400 Bad Request\r\n\r\n"}) {
    const LinkId link = innocent_.connect(listener.address());
    listener.accept().send(text);
    ASSERT_TRUE(until({&innocent_}, [&] { return innocent_.broken.count(link) == 1; }));
    innocent_.broken.clear();
  }
  expect_innocent_works();
}

TEST_P(ZmqGuarded, OtherKeysAreRefused) {
  End stranger(make_end(GetParam(), kOtherToken));
  const Status why = broken_link(stranger, address_, {&server_});
  EXPECT_EQ(why.code(), Code::kMalformed);
  EXPECT_NE(why.cause().find("another key"), std::string::npos) << why.text();
  EXPECT_NE(why.cause().find("STRETTO_JOB_TOKEN"), std::string::npos) << why.text();
  EXPECT_EQ(server_.accepted.size(), 1U);
  expect_innocent_works();
}

TEST_P(ZmqGuarded, EndsOfOtherMechanismsAreRefused) {
  for (const ZmqMechanism other :
       {ZmqMechanism::kNull, ZmqMechanism::kPlain, ZmqMechanism::kCurve}) {
    if (other == GetParam()) continue;
    End stranger(make_end(other));
    const Status why = broken_link(stranger, address_, {&server_});
    EXPECT_NE(why.cause().find("connection ("), std::string::npos) << why.text();
    EXPECT_NE(why.cause().find("STRETTO_ENCRYPT"), std::string::npos) << why.text();
  }
  EXPECT_EQ(server_.accepted.size(), 1U);
  expect_innocent_works();
}

TEST_F(ZmqHostile, ListenersKeyAloneIsNotEnough) {
  End server(make_end(ZmqMechanism::kCurve));
  Peer stranger(ZMQ_DEALER);
  stranger.encrypt(keys_of(kOtherToken)->dialer, keys_of(kToken)->listener.open);
  stranger.connect(server.listen("127.0.0.1:0"));
  stranger.send(good_frame(1));
  ASSERT_TRUE(until({&server}, [&] { return stranger.hung_up_on(); }));
  EXPECT_TRUE(server.accepted.empty());
}

TEST_P(ZmqGuarded, HalfHandshakesEnd) {
  std::vector<std::unique_ptr<RawTcp>> halves;
  const std::string opening =
      greeting(GetParam() == ZmqMechanism::kPlain ? "PLAIN" : "CURVE") + std::string(9, '\x04');
  for (std::size_t i = 0; i < 60; ++i) {
    halves.push_back(std::make_unique<RawTcp>(address_));
    halves.back()->send(opening.substr(0, i % 3 == 0 ? i : opening.size()));
  }
  const auto ended = [&] {
    return std::ranges::all_of(halves, [](const auto& one) { return one->ended(); });
  };
  ASSERT_TRUE(poll_until(ended));
  EXPECT_EQ(server_.accepted.size(), 1U);
  expect_innocent_works();
}

// Each connection opens as a DEALER does and sends parts that announce more parts.
TEST_F(ZmqHostile, EndlessPartsAreBounded) {
  constexpr int kAttackers = 8;
  constexpr int kRounds = 5;
  std::string parts;
  while (parts.size() < 60'000) parts.append("\x01\x01x", 3);
  const std::size_t before = resident_bytes();
  std::size_t most = before;
  std::atomic<int> ended{0};
  const Time began = SteadyClock().now();
  std::vector<std::jthread> attackers;
  for (int i = 0; i < kAttackers; ++i) {
    attackers.emplace_back([&, this] {
      for (int round = 0; round < kRounds; ++round) {
        RawTcp attacker(address_);
        open_as_dealer(attacker);
        while (!attacker.ended()) attacker.send(parts);
      }
      ++ended;
    });
  }
  ASSERT_TRUE(until({&server_, &innocent_}, [&] {
    most = std::max(most, resident_bytes());
    return ended == kAttackers;
  }));
  EXPECT_GE(SteadyClock().now() - began, kRounds * 10ms) << "what gets in is read for 10 ms";
  EXPECT_EQ(server_.accepted.size(), 1U);
  expect_innocent_works();
  RecordProperty("growth", static_cast<int>((most - before) >> 10));
  EXPECT_LE(most - before, kMostGrowth);
}

TEST_P(ZmqGuarded, ManyConnectionsAreBounded) {
  constexpr std::size_t kMany = 1'000;
  rlimit files{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &files), 0);
  files.rlim_cur = files.rlim_max;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &files), 0);
  ASSERT_GT(files.rlim_cur, 3 * kMany);
  const std::size_t before = resident_bytes();
  std::size_t most = before;
  const auto poll_measured = [&](const std::function<bool()>& condition) {
    return until({&server_, &innocent_}, [&] {
      most = std::max(most, resident_bytes());
      return condition();
    });
  };
  // Each waits until it is connected, because the listener pauses.
  std::vector<std::unique_ptr<RawTcp>> many(kMany);
  std::atomic<std::size_t> opened{0};
  const std::jthread crowd([&, this] {
    for (std::unique_ptr<RawTcp>& one : many) {
      one = std::make_unique<RawTcp>(address_);
      one->send(greeting("PLAIN"));
      ++opened;
    }
  });
  ASSERT_TRUE(poll_measured([&] { return opened > kMany / 2; }));
  expect_innocent_works();
  End late(make_end(GetParam()));
  const LinkId link = late.connect(address_);
  ASSERT_EQ(late.send(link, 1), Sent::kTaken);
  ASSERT_TRUE(until({&server_, &late}, [&] { return server_.accepted.size() == 2; }));
  ASSERT_TRUE(poll_measured([&] { return opened == kMany; }));
  expect_innocent_works();
  ASSERT_TRUE(poll_measured(
      [&] { return std::ranges::all_of(many, [](const auto& one) { return one->ended(); }); }));
  RecordProperty("growth", static_cast<int>((most - before) >> 10));
  EXPECT_LE(most - before, kMostGrowth);
  EXPECT_TRUE(late.broken.empty());
}

// A child has copies of the objects, but none of the threads.
TEST_P(ZmqGuarded, ForkedChildLeavesContextAlone) {
  const pid_t child = ::fork();
  if (child == 0) {
    server_.destroy();
    innocent_.destroy();
    ::_exit(0);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  expect_innocent_works();
}

/// A proxy between a link's ends.
class Middle {
 public:
  explicit Middle(const std::string& address) : to_(address) {}
  const std::string& address() const { return listener_.address(); }
  void accept() {
    near_ = std::make_unique<RawTcp>(listener_.accept());
    far_ = std::make_unique<RawTcp>(to_);
  }
  void pass() {
    pass(*near_, *far_, from_dialer);
    pass(*far_, *near_, from_listener);
  }

  std::string from_dialer;
  std::string from_listener;

 private:
  static void pass(RawTcp& from, RawTcp& to, std::string& all) {
    for (std::string more = from.read(); !more.empty(); more = from.read()) {
      all += more;
      to.send(more);
    }
  }

  RawListener listener_;
  const std::string to_;
  std::unique_ptr<RawTcp> near_;
  std::unique_ptr<RawTcp> far_;
};

TEST_P(ZmqGuarded, EncryptedTrafficHidesPayloadAndToken) {
  const bool encrypted = GetParam() == ZmqMechanism::kCurve;
  Middle middle(address_);
  End dialer(make_end(GetParam()));
  const LinkId link = dialer.connect(middle.address());
  middle.accept();
  const std::string secret = "what nobody else should read";
  std::string large;
  while (large.size() < 40'000) large += secret;
  ASSERT_EQ(dialer.send(link, 1, Buffer::copy_of(std::as_bytes(std::span(large)))), Sent::kTaken);
  ASSERT_TRUE(until({&server_, &dialer}, [&] {
    middle.pass();
    return server_.accepted.size() == 2 && server_.sequences[server_.accepted.back()].size() == 1;
  }));
  const auto shows = [&middle](std::string_view word) {
    return middle.from_dialer.find(word) != std::string::npos ||
           middle.from_listener.find(word) != std::string::npos;
  };
  EXPECT_GT(middle.from_dialer.size(), large.size());
  EXPECT_FALSE(shows(kToken));
  EXPECT_EQ(shows(secret), !encrypted);
  EXPECT_EQ(shows("STRO"), !encrypted);  // Of headers.
  EXPECT_EQ(shows(keys_of(kToken)->plain), !encrypted);
  if (!encrypted) return;
  // A replay of the recorded bytes opens no connection.
  RawTcp again(address_);
  again.send(middle.from_dialer);
  ASSERT_TRUE(poll_until([&] { return again.ended(); }));
  EXPECT_EQ(server_.accepted.size(), 2U);
  expect_innocent_works();
}

TEST(ZmqKeys, TokensGiveDifferentKeys) {
  const auto one = keys_of(kToken);
  EXPECT_EQ(one->plain, keys_of(kToken)->plain);
  EXPECT_EQ(one->listener.open, keys_of(kToken)->listener.open);
  EXPECT_NE(one->plain, keys_of(kOtherToken)->plain);
  EXPECT_NE(one->listener.open, keys_of(kOtherToken)->listener.open);
  EXPECT_NE(one->listener.open, one->dialer.open);
  EXPECT_EQ(one->plain.size(), 64U);
}

}  // namespace
}  // namespace stretto::conformance::libzmq

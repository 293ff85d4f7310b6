// SPDX-License-Identifier: Apache-2.0
// Hostile peers of a TCP endpoint: no handshake, wrong shapes, too much data. In every test an
// innocent link works throughout, and each break is reported once.
#include <numeric>

#include "tests/conformance/tcp_fixture.h"

namespace stretto::conformance {
namespace {

using TcpHostile = TcpInnocent;

// A batch of frames as on the wire, with these lengths and `bytes` bytes of payload.
std::string batch(std::size_t frames, const std::vector<std::uint32_t>& lengths,
                  std::size_t bytes) {
  std::string headers;
  for (std::size_t i = 0; i < frames; ++i) {
    headers += header(i + 1, i < lengths.size() ? lengths[i] : 0);
  }
  std::string payloads(lengths.size() * sizeof(std::uint32_t), '\0');
  std::memcpy(payloads.data(), lengths.data(), payloads.size());
  return message(headers, payloads + std::string(bytes, 'x'));
}

const std::vector<std::string>& wrong_shapes() {
  static const std::vector<std::string> shapes = {
      "hello, world",
      head(0, 0),
      head(0, 7) + "payload",
      head(~0U, 0),
      head(1, ~0U),
      head(1, kMostPayload + 1),
      message(std::string(256, 'h'), ""),                 // A batch without lengths,
      batch(2, {4, 3}, 8),                                // with wrong lengths,
      batch(2, {~0U, 9}, 8),                              // with lengths that overflow,
      batch(2, {70'000, 1}, 70'001),                      // too large,
      batch(257, std::vector<std::uint32_t>(257, 0), 0),  // with too many frames.
  };
  return shapes;
}

TEST_F(TcpHostile, GarbageOverTcpIsNoLink) {
  const std::string texts[] = {"",
                               "GET / HTTP/1.0\r\n\r\n",
                               std::string(100'000, '\xff'),
                               std::string(100'000, '\0'),
                               greeting().substr(0, 15),
                               greeting(tcp::Side::kListener) + frame(1),
                               greeting().substr(0, 8) + std::string(5'000, '\xa5'),
                               std::string("\xff\0\0\0\0\0\0\0\x01\x7f\x03\0NULL", 16)};
  send_garbage(address_, texts, [this] { expect_innocent_works(); });
  EXPECT_EQ(server_.accepted.size(), 1U);
  EXPECT_TRUE(server_.broken.empty());
}

TEST_F(TcpHostile, AFirstMessageOfAnotherShapeBreaksItsLink) {
  for (const std::string& shape : wrong_shapes()) {
    const std::size_t broken = server_.broken.size();
    RawNode stranger(address_);
    for (int i = 0; i < 5; ++i) stranger.send(shape);
    stranger.send(frame(1));  // Too late.
    ASSERT_TRUE(poll_until([&] { return stranger.hung_up_on(); }));
    EXPECT_EQ(server_.broken.size(), broken + 1);
    EXPECT_TRUE(server_.sequences[server_.accepted.back()].empty());
    expect_innocent_works();
  }
}

TEST_F(TcpHostile, ALaterMessageOfAnotherShapeBreaksItsLinkOnce) {
  for (const std::string& shape : wrong_shapes()) {
    const std::size_t known = server_.accepted.size();
    const std::size_t broken = server_.broken.size();
    RawNode stranger(address_);
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
  EXPECT_EQ(server_.broken.size(), wrong_shapes().size());
}

TEST_F(TcpHostile, ABatchIsItsFramesAndNoMore) {
  std::vector<std::size_t> sizes;
  server_.when_frame = [&](LinkId link, const wire::Header& header, const Buffer& payload) {
    if (link == innocent_link())
      return static_cast<void>(server_.send(link, header.sequence, payload));
    EXPECT_EQ(header.bytes, payload.size());
    sizes.push_back(payload.size());
  };
  RawNode stranger(address_);
  stranger.send(batch(3, {8, 0, 500}, 508));
  ASSERT_TRUE(poll_until([&] { return sizes.size() == 3; }));
  EXPECT_EQ(sizes, (std::vector<std::size_t>{8, 0, 500}));
  EXPECT_EQ(server_.sequences[server_.accepted.back()], numbers(1, 3));
  expect_innocent_works();
  EXPECT_TRUE(server_.broken.empty());
}

TEST_F(TcpHostile, AnOversizePayloadEndsItsConnection) {
  RawNode stranger(address_);
  stranger.send(frame(1, kMostPayload));
  ASSERT_TRUE(poll_until([&] { return server_.frames == 21; }));
  const LinkId link = server_.accepted.back();
  stranger.send(frame(2, kMostPayload + 1));
  ASSERT_TRUE(poll_until([&] { return server_.broken.count(link) == 1; }));
  EXPECT_EQ(server_.sequences[link], numbers(1, 1));
  expect_innocent_works();
}

TEST_F(TcpHostile, MoreLinksThanAllowedAreRefused) {
  TcpOptions options;
  options.max_links = 4;
  End small(make_tcp_transport(options).or_exit());
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

TEST_F(TcpHostile, MalformedAnswerBreaksLinkOnce) {
  const RawListener listener;
  for (const std::string& shape : wrong_shapes()) {
    const LinkId link = innocent_.connect(listener.address());
    ASSERT_EQ(innocent_.send(link, 1), Sent::kTaken);
    RawTcp fake = listener.accept();
    fake.send(greeting(tcp::Side::kListener) + frame(5, 100) + shape + frame(6, 100));
    ASSERT_TRUE(until({&innocent_}, [&] { return innocent_.broken.count(link) == 1; }));
    EXPECT_EQ(innocent_.broken.at(link).code(), Code::kMalformed);
    EXPECT_EQ(innocent_.sequences[link], numbers(5, 5));
    innocent_.broken.clear();
  }
  expect_innocent_works();
}

// A process with another STRETTO_TRANSPORT or another version gets an error that says so.
TEST_F(TcpHostile, OtherProtocolIsNamed) {
  const RawListener listener;
  std::string other_version = greeting(tcp::Side::kListener);
  other_version[8] = 9;
  const std::pair<std::string, const char*> answers[] = {
      {std::string("\xff\0\0\0\0\0\0\0\x01\x7f", 10), "speaks ZeroMQ"},
      {other_version, "same version of Stretto"}};
  for (const auto& [answer, words] : answers) {
    const LinkId link = innocent_.connect(listener.address());
    RawTcp fake = listener.accept();
    fake.send(answer);
    ASSERT_TRUE(until({&innocent_}, [&] { return innocent_.broken.count(link) == 1; }));
    EXPECT_NE(innocent_.broken.at(link).cause().find(words), std::string::npos);
    innocent_.broken.clear();
  }
  expect_innocent_works();
}

TEST_F(TcpHostile, AListenerThatIsNoNodeBreaksTheLinkOnce) {
  const RawListener listener;
  for (const std::string_view text : {"", "HTTP/1.0 400 Bad Request\r\n\r\n"}) {
    const LinkId link = innocent_.connect(listener.address());
    listener.accept().send(text);
    ASSERT_TRUE(until({&innocent_}, [&] { return innocent_.broken.count(link) == 1; }));
    const Status& why = innocent_.broken.at(link);
    EXPECT_EQ(why.code(), text.empty() ? Code::kLinkBroken : Code::kNetwork);
    const char* const words = text.empty() ? "same STRETTO_TRANSPORT" : "does not speak";
    EXPECT_NE(why.cause().find(words), std::string::npos) << why.text();
    innocent_.broken.clear();
  }
  expect_innocent_works();
}

// A prefix of a valid listener's bytes, which then closes, sends garbage, or resets the connection,
// at any byte.
TEST_F(TcpHostile, AListenerThatFailsAtAnyByteBreaksTheLinkOnce) {
  const std::string all = greeting(tcp::Side::kListener) + frame(5, 100);
  const RawListener listener;
  for (std::size_t at = 0; at <= all.size(); ++at) {
    for (const int how : {0, 1, 2}) {
      const LinkId link = innocent_.connect(listener.address());
      ASSERT_EQ(innocent_.send(link, 1), Sent::kTaken);
      {
        RawTcp far = listener.accept();
        far.send(all.substr(0, at));
        innocent_.poll();
        if (how == 1) far.send(std::string(50, '\xfe'));  // Less than a frame with a bad header.
        if (how == 2) far.reset_when_closed();
        if (how == 1) innocent_.poll();
      }
      ASSERT_TRUE(until({&innocent_}, [&] { return innocent_.broken.count(link) == 1; }))
          << "byte " << at << ", " << how;
      innocent_.broken.clear();
    }
  }
  expect_innocent_works();
}

}  // namespace
}  // namespace stretto::conformance

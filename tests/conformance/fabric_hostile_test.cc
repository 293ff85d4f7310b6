// SPDX-License-Identifier: Apache-2.0
// Pending connections at a libfabric endpoint: raw TCP, invalid introductions, messages without a
// link, impossible frames. In every test an innocent link works throughout, and each break is
// reported once.
#include <algorithm>
#include <atomic>
#include <numeric>
#include <thread>

#include "common/memory.h"
#include "tests/common/effort.h"
#include "tests/conformance/fabric_fixture.h"

namespace stretto::conformance {
namespace {

using fabric::kHeadBytes;
using fabric::kMaxInlineBytes;
using fabric::kPrefixBytes;
using fabric::MessageKind;
using fabric::Prefix;
using FabricHostile = FabricInnocent;

TEST_F(FabricHostile, GarbageOverTcpIsNoLink) {
  const std::string texts[] = {"", "GET / HTTP/1.0\r\n\r\n", std::string(255, '\xff'),
                               std::string(256, '\0'), std::string(100'000, '\xff')};
  send_garbage(address_, texts, [this] { expect_innocent_works(); });
  EXPECT_EQ(server_.accepted.size(), 1U);
  EXPECT_TRUE(server_.broken.empty());
  EXPECT_GT(counts_.strangers, 0U);
}

TEST_F(FabricHostile, IntroductionsThatCannotBeAreNoLink) {
  FakePeer peer(address_);
  std::vector<std::string> wrong;
  const std::string right = text_of(fabric::encode(peer.own()));
  for (const std::size_t byte : {0UL, 4UL, 27UL, 31UL}) {  // Magic, version, sizes of the names.
    wrong.push_back(right);
    wrong.back()[byte] = '\x7f';
  }
  fabric::BootstrapMessage no_link = peer.own();
  no_link.link = 0;
  wrong.push_back(text_of(fabric::encode(no_link)));
  fabric::BootstrapMessage no_queue = peer.own();
  no_queue.queue_frames = 0;
  wrong.push_back(text_of(fabric::encode(no_queue)));
  fabric::BootstrapMessage other = peer.own();
  other.provider = "another";
  wrong.push_back(text_of(fabric::encode(other)));
  fabric::BootstrapMessage family = peer.own();
  family.name[0] = '\x7f';
  wrong.push_back(text_of(fabric::encode(family)));
  fabric::BootstrapMessage shorter = peer.own();
  shorter.name.resize(4);
  wrong.push_back(text_of(fabric::encode(shorter)));
  for (const std::string& text : wrong) {
    RawTcp stranger(address_);
    stranger.send(text);
    ASSERT_TRUE(poll_until([&] { return stranger.ended(); }));
    expect_innocent_works();
  }
  EXPECT_EQ(server_.accepted.size(), 1U);
  EXPECT_EQ(counts_.strangers, wrong.size());
}

TEST_F(FabricHostile, DropsSilentConnections) {
  FabricOptions options = fabric_options();
  options.max_silent = 4;
  options.handshake_timeout = 50ms;
  End small(make_fabric_transport(options).or_exit());
  const std::string address = small.listen("127.0.0.1:0");
  std::vector<std::unique_ptr<RawTcp>> silent;
  for (int i = 0; i < 8; ++i) silent.push_back(std::make_unique<RawTcp>(address));
  const auto ended = [&](auto first, auto last) {
    return std::all_of(first, last, [](auto& one) { return one->ended(); });
  };
  ASSERT_TRUE(until({&small}, [&] { return ended(silent.begin(), silent.begin() + 4); }));
  ASSERT_TRUE(until({&small}, [&] { return ended(silent.begin(), silent.end()); }));
  EXPECT_TRUE(small.accepted.empty());
}

TEST_F(FabricHostile, ExtraDataAfterIntroductionIsMalformed) {
  FakePeer peer(address_);
  peer.introduce(server_);
  const LinkId link = server_.accepted.back();
  peer.line().send("and another thing");
  ASSERT_TRUE(poll_until([&] { return server_.broken.count(link) == 1; }));
  EXPECT_EQ(server_.broken.at(link).code(), Code::kMalformed);
  expect_innocent_works();
}

TEST_F(FabricHostile, AQuestionIsAnsweredAndAnAnswerIsNot) {
  FakePeer peer(address_);
  peer.introduce(server_);
  const LinkId link = server_.accepted.back();
  for (const bool asks : {false, true}) {
    peer.line().send(text_of(fabric::encode(fabric::ProbeMessage{.asks = asks, .came = 0})));
  }
  std::string heard;
  ASSERT_TRUE(poll_until([&] {
    heard += peer.line().read();
    return heard.size() >= fabric::kWordBytes;
  }));
  EXPECT_EQ(heard, text_of(fabric::encode(fabric::ProbeMessage{.asks = false, .came = 0})));
  EXPECT_EQ(server_.broken.count(link), 0U);
  expect_innocent_works();
}

TEST_F(FabricHostile, FramesThatCannotBeBreakTheirLinkOnce) {
  struct Shape {
    Prefix prefix;
    std::size_t bytes;
    bool note;
  };
  const auto shapes = [](const FakePeer& peer) {
    std::vector<Shape> all;
    const auto add = [&](MessageKind kind, std::size_t bytes, bool note, auto change) {
      Prefix prefix = peer.prefix(kind, 2);
      change(prefix);
      all.push_back({prefix, bytes, note});
    };
    const auto nothing = [](Prefix&) {};
    add(MessageKind{17}, kHeadBytes, false, nothing);
    add(MessageKind::kFrame, kPrefixBytes, false, nothing);  // No header.
    add(MessageKind::kFrame, kHeadBytes + 5, false, [](Prefix& one) { one.bytes = 6; });
    add(MessageKind::kFrame, kHeadBytes, false, [](Prefix& one) { one.sequence = 1; });
    add(MessageKind::kFrame, kHeadBytes, false, [](Prefix& one) { one.sequence = 3; });
    add(MessageKind::kFrame, kHeadBytes, false, [](Prefix& one) { one.taken = 1; });
    add(MessageKind::kNote, kPrefixBytes, true, [](Prefix& one) { one.taken = ~0ULL; });
    add(MessageKind::kNote, kPrefixBytes, false, nothing);  // Not sent as a note,
    add(MessageKind::kFrame, kPrefixBytes, true, nothing);  // and the reverse.
    add(MessageKind::kAnnounce, kHeadBytes, false, [](Prefix& one) { one.bytes = 5; });
    add(MessageKind::kAnnounce, kHeadBytes, false,
        [](Prefix& one) { one.bytes = kMostPayload + 1; });
    add(MessageKind::kAnnounce, kHeadBytes, false, [](Prefix& one) { one.bytes = ~0ULL; });
    add(MessageKind::kAnnounce, kHeadBytes + 8, false, [](Prefix& one) { one.bytes = 5'000; });
    return all;
  };
  std::size_t count = 1;
  for (std::size_t i = 0; i < count; ++i) {
    FakePeer peer(address_);
    const std::vector<Shape> all = shapes(peer);
    count = all.size();
    peer.introduce(server_);
    const LinkId link = server_.accepted.back();
    peer.send(server_, peer.prefix(MessageKind::kFrame, 1), kHeadBytes);
    Shape shape = shapes(peer)[i];
    peer.send(server_, shape.prefix, shape.bytes, shape.note);
    ASSERT_TRUE(poll_until([&] { return server_.broken.count(link) == 1; })) << i;
    EXPECT_EQ(server_.broken.at(link).code(), Code::kMalformed) << i;
    EXPECT_EQ(server_.frames, 20 * (i + 1) + i + 1) << i;
    ASSERT_TRUE(poll_until([&] { return peer.line().ended(); })) << i;
    expect_innocent_works();
  }
  EXPECT_EQ(server_.broken.size(), count);
}

TEST_F(FabricHostile, MoreFramesThanThereIsRoomForAreMalformed) {
  FakePeer peer(address_);
  peer.introduce(server_);
  const LinkId link = server_.accepted.back();
  // The sink accepts frames here, but only during a poll. A peer may not rely on room that was not
  // announced to it, and room for all of these was not announced.
  for (std::uint64_t i = 1; i <= 200 && server_.broken.count(link) == 0; ++i) {
    Prefix prefix = peer.prefix(MessageKind::kAnnounce, i);
    prefix.bytes = kMostPayload;
    prefix.key = 1;  // An unknown key: the fetch fails.
    peer.send(server_, prefix, kHeadBytes);
  }
  ASSERT_TRUE(poll_until([&] { return server_.broken.count(link) == 1; }));
  EXPECT_EQ(server_.sequences.count(link), 0U);
  expect_innocent_works();
}

TEST_F(FabricHostile, IgnoresMessagesWithoutValidLink) {
  FakePeer peer(address_);
  peer.introduce(server_);
  const LinkId link = server_.accepted.back();
  const std::uint64_t before = counts_.strangers;
  std::vector<Prefix> nobodys(5, peer.prefix(MessageKind::kFrame, 1));
  nobodys[0].magic = 1;
  nobodys[1].secret ^= 1;
  nobodys[2].link = 12'345;
  nobodys[3].link = innocent_link();  // Another peer's link with this peer's secret.
  nobodys[4].link = 0;
  for (const Prefix& prefix : nobodys) peer.send(server_, prefix, kHeadBytes);
  peer.send(server_, peer.prefix(MessageKind::kFrame, 1), 10);  // Too short to name a link.
  peer.send(server_, peer.prefix(MessageKind::kFrame, 1), 0);
  expect_innocent_works();
  peer.send(server_, peer.prefix(MessageKind::kFrame, 1), kHeadBytes);
  ASSERT_TRUE(poll_until([&] { return server_.sequences.count(link) == 1; }));
  EXPECT_EQ(counts_.strangers - before, nobodys.size() + 2);
  EXPECT_TRUE(server_.broken.empty());
}

// libfabric keeps unrequested messages without a bound, at some KiB each.
TEST_F(FabricHostile, StrayMessageFloodIsNotBuffered) {
  constexpr std::size_t kMessages = 100'000;
  // A one-time cost for any number of messages; a sanitizer adds up to three bytes for each.
  constexpr std::size_t kMostGrowth = std::size_t{kLess == 1 ? 64 : 256} << 20;
  FakePeer peer(address_);
  peer.introduce(server_);
  Prefix nobodys = peer.prefix(MessageKind::kFrame, 1);
  nobodys.link = 12'345;
  const std::size_t before = resident_bytes();
  std::atomic<bool> over = false;
  const std::jthread floods([&] {
    for (std::size_t sent = 0; sent < kMessages;) sent += peer.flood(nobodys, kMessages - sent);
    over = true;
  });
  ASSERT_TRUE(poll_until([&over] { return over.load(); }));
  const std::size_t after = resident_bytes();
  EXPECT_LT(after - std::min(before, after), kMostGrowth);
  expect_innocent_works();
  EXPECT_TRUE(server_.broken.empty());
}

// A message that fits into no receive never completes at its sender (libfabric 1.17).
TEST_F(FabricHostile, OversizedMessagesHarmNoOtherLink) {
  for (const std::size_t bytes : {5'000UL, 20'000UL, 100'000UL, 1'000'000UL}) {
    for (const bool as_note : {false, true}) {
      FakePeer peer(address_);
      peer.introduce(server_);
      peer.begin_send(server_, peer.prefix(MessageKind::kFrame, 1), bytes, as_note);
      expect_innocent_works();
    }
  }
  ASSERT_TRUE(poll_until([&] { return server_.broken.size() == 8; }));
  expect_innocent_works();
  EXPECT_GT(counts_.strangers, 0U);
}

TEST_F(FabricHostile, MoreLinksThanAllowedAreRefused) {
  FabricOptions options = fabric_options();
  options.max_links = 4;
  End small(make_fabric_transport(options).or_exit());
  const std::string address = small.listen("127.0.0.1:0");
  std::vector<LinkId> links;
  for (int i = 0; i < 8; ++i) links.push_back(innocent_.connect(address));
  ASSERT_TRUE(until({&small, &innocent_},
                    [&] { return small.accepted.size() == 4 && innocent_.broken.size() == 4; }));
  const Result<LinkId> connected = small.transport().connect(address_);
  ASSERT_FALSE(connected.ok());
  EXPECT_EQ(connected.status().code(), Code::kResource);
}

TEST_F(FabricHostile, AListenerThatIsNoNodeBreaksTheLinkOnce) {
  const RawListener listener;
  const std::string banner = text_of(fabric::banner());
  const std::string other = text_of(fabric::encode(
      {.provider = "another", .name = "name", .link = 1, .secret = 1, .queue_frames = 1}));
  for (const std::string& text : {std::string(), std::string("HTTP/1.0 400 Bad Request\r\n\r\n"),
                                  banner, banner + std::string(256, 'x'), banner + other}) {
    const LinkId link = innocent_.connect(listener.address());
    RawTcp peer = listener.accept();
    peer.send(text);
    peer.finish();
    ASSERT_TRUE(until({&innocent_}, [&] { return innocent_.broken.count(link) == 1; }));
    const Status why = innocent_.broken.at(link);
    EXPECT_EQ(text == banner + other, why.cause().find("another") != std::string::npos)
        << why.text();
    innocent_.broken.clear();
  }
  expect_innocent_works();
}

}  // namespace
}  // namespace stretto::conformance

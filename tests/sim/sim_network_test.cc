// SPDX-License-Identifier: Apache-2.0
// Bit flips in transit: which of them the wire's checks detect, and which stay undetected if frames
// carry no checksum.
#include "tests/sim/sim_network.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>

#include "tests/van/far_end.h"
#include "tests/van/recorder.h"
#include "van/engine/van.h"
#include "van/wire/frame_checksum.h"

namespace stretto::sim {
namespace {

constexpr std::size_t kHeaderBits = wire::kHeaderBytes * 8;
constexpr std::size_t kPayloadBytes = 64;
constexpr NodeId kWorker = 10;

// A van, and a worker that sends it one push in which one bit flips.
struct Flipped {
  explicit Flipped(std::size_t bit, bool sums = false) : checksummed(sums) {
    van.set_node(50);
    EXPECT_TRUE(van.listen("van:1").ok());
    link = worker->connect("van:1").or_exit();
    send({}, control::encode(fake::hello(Role::kWorker, 0)));
    EXPECT_EQ(seen.controls.size(), 1U);
    van.links().admit(seen.controls.at(0).first, kWorker);
    EXPECT_TRUE(network.flip_next("worker", "van", bit));
    push.kind = wire::Kind::kPush;
    push.dtype = static_cast<std::uint8_t>(Dtype::kF32);
    push.sender = kWorker;
    push.key = {.tensor = 1, .part = 0};
    push.version = push.push_sequence = 1;
    send(push, Buffer::copy_of(sent));
  }

  void send(wire::Header header, const Buffer& payload) {
    header.sequence = ++sequence;
    header.bytes = static_cast<std::uint32_t>(payload.size());
    push.sequence = header.sequence;
    push.bytes = header.bytes;
    if (checksummed) wire::add_checksum(header, payload.bytes());
    ASSERT_EQ(worker->try_send(link, header, payload), Transport::Sent::kTaken);
    clock.advance_to(clock.now() + 10ms);
    for (int i = 0; i < 10; ++i) van.step(seen, Duration::zero());
  }

  bool refused() const { return seen.data.empty(); }

  const bool checksummed;
  VirtualClock clock;
  SimNetwork network{clock, 1};
  std::unique_ptr<Transport> worker = network.endpoint("worker");
  fake::Recorder seen;
  Van van{network.endpoint("van"), clock};
  LinkId link = 0;
  std::uint64_t sequence = 0;
  wire::Header push;
  std::vector<std::byte> sent = std::vector<std::byte>(kPayloadBytes, std::byte{7});
};

// Bytes of the header in which every flip of a push is detected.
std::set<std::size_t> guarded_bytes() {
  std::set<std::size_t> bytes;
  const auto guard = [&bytes](std::size_t offset, std::size_t size) {
    for (std::size_t i = 0; i < size; ++i) bytes.insert(offset + i);
  };
  guard(offsetof(wire::Header, magic), 4);
  guard(offsetof(wire::Header, protocol), 2);
  guard(offsetof(wire::Header, kind), 1);
  guard(offsetof(wire::Header, memory), 1);
  guard(offsetof(wire::Header, sender), sizeof(NodeId));
  guard(offsetof(wire::Header, bytes), 4);
  guard(offsetof(wire::Header, sequence), 8);
  guard(offsetof(wire::Header, credit), 8);
  guard(offsetof(wire::Header, acked), 8);
  guard(offsetof(wire::Header, offset), 4);
  return bytes;
}

TEST(SimNetwork, BitFlipInGuardedHeaderBytesEndsLink) {
  std::size_t refused = 0;
  const std::set<std::size_t> guarded = guarded_bytes();
  for (std::size_t bit = 0; bit < kHeaderBits; ++bit) {
    const Flipped flipped(bit);
    refused += flipped.refused() ? 1 : 0;
    // A push and a frame up a tree differ in one bit of the kind, and have the same fields.
    const bool goes_up = bit == 8 * offsetof(wire::Header, kind) + 3;
    const bool must_be = guarded.count(bit / 8) != 0 && !goes_up;
    EXPECT_TRUE(flipped.refused() || !must_be) << "byte " << bit / 8 << ", bit " << bit % 8;
  }
  EXPECT_GE(refused, guarded.size() * 8 - 1);
  fmt::print("{} of {} flips in a push's header are refused\n", refused, kHeaderBits);
}

TEST(SimNetwork, AFlipInAPayloadIsNotNoticed) {
  const Flipped flipped(kHeaderBits + 8 * 5 + 1);
  ASSERT_EQ(flipped.seen.data.size(), 1U);
  std::vector<std::byte> wanted = flipped.sent;
  wanted[5] ^= std::byte{2};
  const std::span<const std::byte> came = flipped.seen.data[0].payload.bytes();
  EXPECT_EQ(std::vector<std::byte>(came.begin(), came.end()), wanted);
  EXPECT_EQ(flipped.sent[5], std::byte{7}) << "who sent it keeps it as it was";
}

// The flag that announces the checksum is covered too.
TEST(SimNetwork, NoFlipGetsPastAChecksum) {
  for (std::size_t bit = 0; bit < kHeaderBits + 8 * kPayloadBytes; ++bit) {
    const Flipped flipped(bit, true);
    EXPECT_TRUE(flipped.refused()) << "byte " << bit / 8 << ", bit " << bit % 8;
    EXPECT_EQ(flipped.van.counters().corrupted, 1U);
  }
}

TEST(SimNetwork, OneBitOfOneFrameFlips) {
  const Flipped flipped(8 * offsetof(wire::Header, version) + 3);
  ASSERT_EQ(flipped.seen.data.size(), 1U);
  wire::Header wanted = flipped.push;
  wanted.version ^= 8;
  EXPECT_EQ(wire::encode(flipped.seen.data[0].header), wire::encode(wanted));
}

}  // namespace
}  // namespace stretto::sim

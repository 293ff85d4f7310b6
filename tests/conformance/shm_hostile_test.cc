// SPDX-License-Identifier: Apache-2.0
// Hostile peers of a shared memory endpoint: invalid notes, descriptors without memory, rings that
// jump, missing payloads. In every test an innocent link works throughout.
#include <fcntl.h>
#include <unistd.h>

#include "tests/conformance/shm_fixture.h"

namespace stretto::conformance {
namespace {

using shm::Entry;
using shm::SocketMessage;

using ShmHostile = ShmInnocent;

Descriptor memory_of(std::size_t bytes, bool sealed) {
  Descriptor memory = shm::make_memory(bytes).or_exit();
  EXPECT_TRUE(!sealed || shm::seal(memory, false).ok());
  return memory;
}

TEST_F(ShmHostile, DropsOldestSilentPeersWhenCrowded) {
  std::vector<Descriptor> silent;
  for (int i = 0; i < 100; ++i) {
    silent.push_back(shm::connect_to(name_of_address(address_)).or_exit());
    if (i % 10 == 0) expect_innocent_works();
  }
  ASSERT_TRUE(poll_until([&] { return hung_up(silent[80]); }));
  EXPECT_FALSE(hung_up(silent.back()));
  expect_innocent_works();
  EXPECT_EQ(server_.accepted.size(), 1U);
}

TEST_F(ShmHostile, AFirstNoteThatIsNoHelloIsNoLink) {
  const std::uint64_t right = 99'000;  // Close to the size of a line, but never equal.
  const Descriptor unsealed = memory_of(1 << 20, false);
  const Descriptor small = memory_of(64, true);
  const Descriptor sealed = memory_of(1 << 20, true);
  const Descriptor zero(::open("/dev/zero", O_RDWR | O_CLOEXEC));
  const Descriptor folder(::open("/", O_RDONLY | O_CLOEXEC));
  const std::vector<std::pair<SocketMessage, const Descriptor*>> notes = {
      {{SocketMessage::Kind::kBell, 0, 0}, nullptr},
      {{SocketMessage::Kind::kChunk, 0, 4096}, &sealed},
      {{SocketMessage::Kind::kHello, shm::kVersion + 1, right}, &sealed},
      {{SocketMessage::Kind::kHello, shm::kVersion, right}, nullptr},
      {{SocketMessage::Kind::kHello, shm::kVersion, right}, &unsealed},
      {{SocketMessage::Kind::kHello, shm::kVersion, right}, &small},
      {{SocketMessage::Kind::kHello, shm::kVersion, ~std::uint64_t{0}}, &sealed},
      {{SocketMessage::Kind::kHello, shm::kVersion, 0}, &sealed},
      {{SocketMessage::Kind::kHello, shm::kVersion, right}, &zero},
      {{SocketMessage::Kind::kHello, shm::kVersion, right}, &folder},
  };
  for (const auto& [note, memory] : notes) {
    const Descriptor stranger = shm::connect_to(name_of_address(address_)).or_exit();
    shm::tell(stranger, note, memory);
    ASSERT_TRUE(poll_until([&, &stranger = stranger] { return hung_up(stranger); }));
    expect_innocent_works();
  }
  EXPECT_EQ(server_.accepted.size(), 1U);
  EXPECT_TRUE(server_.broken.empty());
}

// The hellos in this test have the right size of a line, and only the memory is invalid.
TEST_F(ShmHostile, AHelloWithMemoryThatMightGoAwayIsNoLink) {
  const Descriptor spy_listener = shm::listen_at("spyspyspyspyspy0").or_exit();
  auto spied = shm::Line::connect("spyspyspyspyspy0").or_exit();
  const shm::Accepted spy = shm::accept_from(spy_listener);
  const shm::Received hello = shm::hear(spy.socket);
  ASSERT_EQ(hello.note.kind, SocketMessage::Kind::kHello);
  const Descriptor unsealed = memory_of(hello.note.bytes, false);
  const Descriptor small = memory_of(hello.note.bytes - 1, true);
  const Descriptor zero(::open("/dev/zero", O_RDWR | O_CLOEXEC));
  for (const Descriptor* memory : {&unsealed, &small, &zero}) {
    const Descriptor stranger = shm::connect_to(name_of_address(address_)).or_exit();
    shm::tell(stranger, hello.note, memory);
    ASSERT_TRUE(poll_until([&] { return hung_up(stranger); }));
  }
  expect_innocent_works();
  EXPECT_EQ(server_.accepted.size(), 1U);
}

TEST_F(ShmHostile, NotesOfOtherSizesBreakTheirLink) {
  for (const std::size_t size : {1U, 15U, 17U, 4000U}) {
    RogueLine rogue(address_);
    rogue.put({});
    ASSERT_TRUE(poll_until([&] { return server_.accepted.size() > server_.broken.size() + 1; }));
    const std::string bytes(size, 'x');
    ASSERT_GT(::send(rogue.line->socket().get(), bytes.data(), bytes.size(), MSG_NOSIGNAL), 0);
    expect_malformed(server_.broken.size());
  }
}

TEST_F(ShmHostile, ChunksThatAreNoMemoryBreakTheirLink) {
  const Descriptor unsealed = memory_of(1 << 20, false);
  const Descriptor small = memory_of(4096, true);
  const Descriptor good = memory_of(1 << 20, true);
  const Descriptor zero(::open("/dev/zero", O_RDWR | O_CLOEXEC));
  struct Case {
    std::uint32_t number;
    std::uint64_t bytes;
    const Descriptor* memory;
  };
  for (const Case& one :
       {Case{0, 1 << 20, &unsealed}, Case{0, 1 << 20, &small}, Case{0, 1 << 20, &zero},
        Case{1, 1 << 20, &good}, Case{~0U, 1 << 20, &good}, Case{0, 0, &good},
        Case{0, ~std::uint64_t{0}, &good}, Case{0, 1 << 21, &good}}) {
    RogueLine rogue(address_);
    rogue.announce(one.number, one.bytes, one.memory);
    rogue.put({});
    expect_malformed(server_.broken.size());
  }
}

TEST_F(ShmHostile, MemoryCannotShrinkAfterItWasShown) {
  const Descriptor memory = memory_of(1 << 20, true);
  EXPECT_NE(::ftruncate(memory.get(), 0), 0);
  EXPECT_NE(::fcntl(memory.get(), F_ADD_SEALS, 0x0010), 0);
}

TEST_F(ShmHostile, FrameWithInvalidReferenceBreaksLink) {
  constexpr std::uint64_t kHuge = ~std::uint64_t{0};
  constexpr std::uint64_t kEnd = RogueLine::kChunkBytes;
  struct Case {
    std::uint32_t chunk;
    std::uint32_t slot;
    std::uint64_t offset;
    std::uint64_t bytes;
  };
  for (const Case& one :
       {Case{1, 0, 0, 1000}, Case{~0U, 0, 0, 1000}, Case{0, shm::kSlots, 0, 1000},
        Case{0, shm::kNoSlot, 0, 1000}, Case{0, shm::kNoSlot, 0, shm::kMostInline + 1},
        Case{0, 0, kEnd, 1}, Case{0, 0, kEnd - 1, 2}, Case{0, 0, kHuge, 2},
        Case{0, 0, kHuge - 63, 64}, Case{0, 0, 0, kMostPayload + 1}, Case{0, 0, 0, kHuge},
        Case{0, 0, 1, kHuge}}) {
    RogueLine rogue(address_);
    rogue.announce_own();
    rogue.put({.chunk = 0, .slot = 0, .offset = 0, .bytes = 1000});
    rogue.put({.chunk = one.chunk, .slot = one.slot, .offset = one.offset, .bytes = one.bytes});
    rogue.put({});
    const std::size_t frames = server_.frames;
    const std::size_t broken = server_.broken.size();
    ASSERT_TRUE(poll_until([&] { return server_.broken.size() > broken; }));
    EXPECT_EQ(server_.frames, frames + 1) << "the good one only";
    expect_malformed(broken);
  }
}

TEST_F(ShmHostile, RingsThatJumpBreakTheirLink) {
  for (const std::uint64_t count :
       {shm::kRingFrames + 2, std::uint64_t{1} << 63, ~std::uint64_t{0}, std::uint64_t{0}}) {
    RogueLine rogue(address_);
    rogue.put({});
    const std::size_t known = server_.accepted.size();
    ASSERT_TRUE(poll_until([&] { return server_.accepted.size() > known; }));
    rogue.line->publish(count);
    expect_malformed(server_.broken.size());
  }
}

TEST_F(ShmHostile, AcknowledgingUnsentFramesBreaksLink) {
  for (const std::uint64_t count : {shm::kRingFrames + 1, ~std::uint64_t{0}}) {
    RogueLine rogue(address_);
    rogue.put({});
    const std::size_t known = server_.accepted.size();
    ASSERT_TRUE(poll_until([&] { return server_.accepted.size() > known; }));
    rogue.line->note_taken(count);
    const LinkId link = server_.accepted.back();
    Sent sent = Sent::kTaken;
    for (std::uint64_t i = 0; i <= shm::kRingFrames && sent == Sent::kTaken; ++i) {
      sent = server_.send(link, i);
    }
    EXPECT_EQ(sent, Sent::kBroken);
    expect_malformed(server_.broken.size());
  }
}

TEST_F(ShmHostile, ReturningUnlentSlotBreaksLink) {
  RogueLine rogue(address_);
  rogue.put({});
  ASSERT_TRUE(poll_until([&] { return server_.accepted.size() == 2; }));
  const LinkId link = server_.accepted.back();
  ASSERT_EQ(server_.send(link, 1, Buffer::copy_of(pattern(10'000, 1))), Sent::kTaken);
  for (std::uint32_t slot = 0; slot < shm::kSlots; ++slot) rogue.line->give_back(slot);
  expect_malformed(server_.broken.size());
}

TEST_F(ShmHostile, PeerKeepingSlotsBlocksOnlyItself) {
  RogueLine rogue(address_);
  rogue.put({});
  ASSERT_TRUE(poll_until([&] { return server_.accepted.size() == 2; }));
  const LinkId link = server_.accepted.back();
  const Buffer payload = Buffer::copy_of(pattern(50'000, 1));
  Lender lender(pattern(50'000, 1));
  int sent = 0;
  while (server_.send(link, 1, lender.lend()) == Sent::kTaken) ++sent;
  EXPECT_LE(sent, (1 << 20) / 50'000);
  EXPECT_TRUE(lender.all_ended()) << "what was copied is not held";
  expect_innocent_works();
  rogue.line.reset();
  ASSERT_TRUE(poll_until([&] { return server_.broken.count(link) == 1; }));
  expect_innocent_works();
}

TEST_F(ShmHostile, BellAndChunkFloodsStallNoOtherLink) {
  RogueLine rogue(address_);
  rogue.put({});
  for (int i = 0; i < 5'000; ++i) {
    shm::tell(rogue.line->socket(), SocketMessage{});
    if (i % 500 == 0) expect_innocent_works();
  }
  expect_innocent_works();
  const Descriptor tiny = memory_of(4096, true);
  const std::size_t broken = server_.broken.size();
  for (std::uint32_t i = 0; i < 2'000 && server_.broken.size() == broken; ++i) {
    rogue.announce(i, 4096, &tiny);
    server_.poll();
  }
  expect_malformed(broken);
}

TEST_F(ShmHostile, MoreDescriptorsThanAskedForAreClosed) {
  const auto count = [] {
    int open = 0;
    for (int i = 0; i < 1024; ++i) open += ::fcntl(i, F_GETFD) >= 0 ? 1 : 0;
    return open;
  };
  const int before = count();
  {
    const Descriptor stranger = shm::connect_to(name_of_address(address_)).or_exit();
    SocketMessage note{SocketMessage::Kind::kHello, shm::kVersion, 1};
    iovec part{.iov_base = &note, .iov_len = sizeof note};
    alignas(cmsghdr) char control[CMSG_SPACE(3 * sizeof(int))] = {};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    cmsghdr* const rights = CMSG_FIRSTHDR(&message);
    *rights = {
        .cmsg_len = CMSG_LEN(3 * sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
    const int numbers[3] = {0, 1, 2};
    std::memcpy(CMSG_DATA(rights), numbers, sizeof numbers);
    ASSERT_GT(::sendmsg(stranger.get(), &message, MSG_NOSIGNAL), 0);
    ASSERT_TRUE(poll_until([&] { return hung_up(stranger); }));
  }
  EXPECT_EQ(count(), before);
}

TEST_F(ShmHostile, ControlIsCopiedBeforeItIsParsed) {
  for (const wire::Kind kind : {wire::Kind::kControl, wire::Kind::kCredit, wire::Kind::kPull,
                                static_cast<wire::Kind>(200)}) {
    RogueLine rogue(address_);
    rogue.announce_own();
    Buffer kept;
    when_stranger = [&](LinkId, const wire::Header&, Buffer payload) { kept = std::move(payload); };
    std::ranges::copy(pattern(10'000, 3), rogue.chunk());
    rogue.put({.chunk = 0, .slot = 0, .offset = 0, .bytes = 10'000}, kind);
    ASSERT_TRUE(poll_until([&] { return !kept.empty(); }));
    std::fill_n(rogue.chunk(), 10'000, std::byte{0xff});
    EXPECT_TRUE(has_pattern(kept.bytes(), 3));
  }
}

/// Kinds whose bytes are only copied and summed.
constexpr wire::Kind kDataKinds[] = {wire::Kind::kPush, wire::Kind::kValue, wire::Kind::kUp,
                                     wire::Kind::kDown};

TEST_F(ShmHostile, DataIsReadWhereItLies) {
  for (const wire::Kind kind : kDataKinds) {
    RogueLine rogue(address_);
    rogue.announce_own();
    Buffer kept;
    when_stranger = [&](LinkId, const wire::Header&, Buffer payload) { kept = std::move(payload); };
    std::ranges::copy(pattern(10'000, 3), rogue.chunk());
    rogue.put({.chunk = 0, .slot = 0, .offset = 0, .bytes = 10'000}, kind);
    ASSERT_TRUE(poll_until([&] { return !kept.empty(); }));
    EXPECT_TRUE(has_pattern(kept.bytes(), 3));
    std::fill_n(rogue.chunk(), 10'000, std::byte{0xff});
    EXPECT_FALSE(has_pattern(kept.bytes(), 3)) << "it was copied";
  }
}

TEST_F(ShmHostile, EncodedDataIsCopiedBeforeItIsUsed) {
  for (const wire::Kind kind : kDataKinds) {
    RogueLine rogue(address_);
    rogue.announce_own();
    Buffer kept;
    when_stranger = [&](LinkId, const wire::Header&, Buffer payload) { kept = std::move(payload); };
    std::ranges::copy(pattern(10'000, 3), rogue.chunk());
    rogue.put({.chunk = 0, .slot = 0, .offset = 0, .bytes = 10'000}, kind, 1);
    ASSERT_TRUE(poll_until([&] { return !kept.empty(); }));
    std::fill_n(rogue.chunk(), 10'000, std::byte{0xff});
    EXPECT_TRUE(has_pattern(kept.bytes(), 3));
  }
}

TEST_F(ShmHostile, PayloadsAtOddPlacesAreAlignedForUs) {
  RogueLine rogue(address_);
  rogue.announce_own();
  std::size_t came = 0;
  when_stranger = [&](LinkId, const wire::Header&, const Buffer& payload) {
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(payload.data()) % 64, 0U);
    ++came;
  };
  for (const std::uint64_t offset : {0U, 1U, 7U, 63U, 64U, 4095U}) {
    rogue.put({.chunk = 0, .slot = 0, .offset = offset, .bytes = 9'000});
  }
  ASSERT_TRUE(poll_until([&] { return came == 6; }));
}

}  // namespace
}  // namespace stretto::conformance

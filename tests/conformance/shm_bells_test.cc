// SPDX-License-Identifier: Apache-2.0
// How often a sleeping peer's doorbell rings: once an iteration, and earlier for many frames.
#include "tests/conformance/shm_fixture.h"
#include "van/shm/doorbells.h"

namespace stretto::conformance {
namespace {

class ShmBells : public ShmInnocent {
 protected:
  ShmBells() : rogue_(address_) {
    const std::size_t known = server_.accepted.size();
    EXPECT_TRUE(poll_until([&] { return server_.accepted.size() == known + 1; }));
    rogue_link_ = server_.accepted.back();
    when_stranger = [this](LinkId link, const wire::Header& header, const Buffer&) {
      EXPECT_EQ(server_.send(link, header.sequence, answer_), Sent::kTaken);
      doze();  // It has the answer, and sleeps again.
    };
  }

  void doze() { rogue_.line->wish(shm::Line::kFrames); }
  /// The rogue sends `frames` frames in one iteration; each is answered.
  void answer(int frames) {
    for (int i = 0; i < frames; ++i) rogue_.put({});
    bells();
    doze();
    server_.poll();
  }
  /// The doorbells that the rogue received since the last call.
  int bells() {
    int count = 0;
    for (;;) {
      const shm::Received heard = shm::hear(rogue_.line->socket());
      if (heard.what != shm::Received::What::kNote) return count;
      count += heard.note.kind == shm::SocketMessage::Kind::kBell ? 1 : 0;
    }
  }

  RogueLine rogue_;
  LinkId rogue_link_ = 0;
  Buffer answer_;
};

TEST_F(ShmBells, RingsOncePerIteration) {
  answer(8);
  EXPECT_EQ(rogue_.line->published_there(), 8U);
  EXPECT_EQ(bells(), 1);
}

TEST_F(ShmBells, RingsEarlyPastByteLimit) {
  answer_ = server_.transport().allocate(kMostPayload);
  constexpr int kFrames = shm::Doorbells::kMostBytes / kMostPayload + 4;
  answer(kFrames);
  EXPECT_EQ(rogue_.line->published_there(), static_cast<std::uint64_t>(kFrames));
  EXPECT_EQ(bells(), 2);
}

TEST_F(ShmBells, AnAnswerToACallRingsAtOnce) {
  when_stranger = [this](LinkId link, const wire::Header&, const Buffer&) {
    wire::Header header;
    header.kind = wire::Kind::kAnswer;
    EXPECT_EQ(server_.transport().try_send(link, header, {}), Sent::kTaken);
    EXPECT_EQ(bells(), 1);
    doze();
  };
  answer(3);
  EXPECT_EQ(bells(), 0);
}

TEST_F(ShmBells, OutsideOfATurnEachFrameRings) {
  bells();
  for (std::uint64_t i = 1; i <= 3; ++i) {
    doze();
    EXPECT_EQ(server_.send(rogue_link_, i), Sent::kTaken);
    EXPECT_EQ(bells(), 1);
  }
}

TEST_F(ShmBells, TheWordOfMemoryIsFoundBehindBells) {
  constexpr int kBells = 5;
  for (int i = 0; i < kBells; ++i) {
    shm::tell(rogue_.line->socket(), {shm::SocketMessage::Kind::kBell, 0, 0}, nullptr);
  }
  rogue_.announce_own();
  int come = 0;
  when_stranger = [&come](LinkId, const wire::Header&, const Buffer&) { ++come; };
  shm::Entry entry;
  entry.chunk = 0;
  entry.slot = 0;
  entry.offset = 0;
  entry.bytes = 1000;
  rogue_.put(entry);
  EXPECT_TRUE(poll_until([&come] { return come == 1; }));
  EXPECT_TRUE(server_.broken.empty());
}

}  // namespace
}  // namespace stretto::conformance

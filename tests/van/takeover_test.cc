// SPDX-License-Identifier: Apache-2.0
// Two Vans on a network that breaks their link: each message is delivered once, and no break is
// reported if a new link is made in time. Also resume requests that must be refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>

#include "tests/sim/sim_network.h"
#include "tests/van/far_end.h"
#include "tests/van/recorder.h"
#include "van/control/control_codec.h"
#include "van/engine/van.h"

namespace stretto {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::SizeIs;

constexpr NodeId kShard = 50;
constexpr NodeId kWorker = 10;
constexpr std::size_t kShareBytes = 300'000;  // Several slices.

wire::Header value_header(wire::Key key) {
  wire::Header header = fake::push_header(key, 1);
  header.kind = wire::Kind::kValue;
  header.flags = 0;
  return header;
}

class TakeoverTest : public testing::Test {
 protected:
  explicit TakeoverTest(std::uint64_t seed = 1, Duration patience = 2s)
      : network_(clock_, seed, {.bytes_per_second = 1e8, .link_capacity_bytes = 200'000}),
        shard_(network_.endpoint("shard"), clock_,
               {.limits = {.patience = patience}, .checksums = Checksums::kAll}),
        worker_(network_.endpoint("worker"), clock_,
                {.limits = {.patience = patience}, .checksums = Checksums::kAll}) {
    shard_.set_node(kShard);
    worker_.set_node(kWorker);
    shard_.listen("shard:1").or_exit();
    at_shard_.when_control = [this](LinkId link, const control::Message& message) {
      if (!control::is<control::Hello>(message)) return;
      near_shard_ = link;
      shard_.links().admit(link, kWorker);
      shard_.send_control(link, fake::welcome(kWorker, 0));
    };
    at_worker_.when_control = [this](LinkId link, const control::Message& message) {
      if (control::is<control::Welcome>(message)) worker_.links().admit(link, kShard);
    };
    link_ = worker_.links().connect("shard:1", fake::hello(Role::kWorker, 0, kWorker)).or_exit();
    while (!worker_.links().is_open(link_)) turn();
    at_shard_.controls.clear();
    at_worker_.controls.clear();
  }

  void turn() {
    shard_.step(at_shard_, Duration::zero());
    worker_.step(at_worker_, Duration::zero());
    clock_.advance_to(clock_.now() + 50us);
  }
  void pass(Duration time) {
    for (const Time end = clock_.now() + time; clock_.now() < end;) turn();
  }
  Buffer share(std::uint32_t part) {
    Buffer buffer = Buffer::allocate(kShareBytes);
    std::memset(buffer.writable().data(), static_cast<int>(part), kShareBytes);
    return buffer;
  }
  // Contributions in one direction, values in the other, and control messages among them.
  void send_all(std::uint32_t parts) {
    for (std::uint32_t part = 1; part <= parts; ++part) {
      worker_.send(link_, fake::push_header({1, part}, 1), share(part));
      worker_.send_control(link_, fake::barrier(part));
      shard_.send(near_shard_, value_header({2, part}), share(part));
      shard_.send_control(near_shard_, fake::barrier(part));
    }
  }
  // Frames leave by priority, so parts arrive in any order, each of them once.
  static void expect_all(const fake::Recorder& seen, std::uint32_t parts) {
    std::map<std::uint32_t, int> times;
    for (const fake::Recorder::Data& data : seen.data) {
      ++times[data.header.key.part];
      ASSERT_EQ(data.payload.size(), kShareBytes);
      const std::byte wanted{static_cast<unsigned char>(data.header.key.part)};
      const auto bytes = data.payload.bytes();
      ASSERT_EQ(std::ranges::count(bytes, wanted), std::ssize(bytes));
    }
    EXPECT_THAT(times, SizeIs(parts));
    EXPECT_THAT(seen.data, SizeIs(parts));
    ASSERT_THAT(seen.controls, SizeIs(parts));
    for (std::uint32_t i = 0; i < parts; ++i) {
      EXPECT_EQ(std::get<control::Barrier>(seen.controls[i].second).number, i + 1);
    }
    EXPECT_THAT(seen.broken, SizeIs(0));
  }

  sim::VirtualClock clock_;
  sim::SimNetwork network_;
  fake::Recorder at_shard_;
  fake::Recorder at_worker_;
  Van shard_;
  Van worker_;
  LinkId link_ = 0;
  LinkId near_shard_ = 0;
};

// Corrupts a bit of the next frame: a header, a payload, and then the resume request.
TEST_F(TakeoverTest, AdmissionIsAckedWithoutFurtherTraffic) {
  pass(10ms);
  EXPECT_TRUE(shard_.links().has_heard_all(near_shard_));
  EXPECT_TRUE(worker_.links().has_heard_all(link_));
}

TEST_F(TakeoverTest, CorruptedFramesAreRetransmitted) {
  constexpr std::uint32_t kParts = 40;
  send_all(kParts);
  std::size_t bit = 0;
  std::uint64_t flips = 0;
  while (at_shard_.data.size() + at_worker_.data.size() < 2 * kParts && flips < 1000) {
    bit += 1031;
    const bool out = network_.flip_next("worker", "shard", bit % 5000);
    const bool back = network_.flip_next("shard", "worker", bit % 3000);
    flips += out || back ? 1 : 0;
    pass(2ms);
  }
  pass(200ms);
  expect_all(at_shard_, kParts);
  expect_all(at_worker_, kParts);
  EXPECT_GE(worker_.counters().mended, 10U);
  EXPECT_GE(shard_.counters().corrupted + worker_.counters().corrupted, 10U);
}

TEST_F(TakeoverTest, ACutLinkIsMadeAnewAndAllArrivesOnce) {
  send_all(4);
  pass(3ms);
  ASSERT_TRUE(network_.cut("worker", "shard"));
  pass(100ms);
  expect_all(at_shard_, 4);
  expect_all(at_worker_, 4);
  EXPECT_EQ(worker_.counters().mended, 1U);
  EXPECT_EQ(shard_.counters().mended, 1U);
  EXPECT_TRUE(worker_.queue().idle());
  EXPECT_TRUE(shard_.queue().idle());
}

TEST_F(TakeoverTest, LongSilentLinkReconnectsTwice) {
  pass(10ms);
  ASSERT_TRUE(network_.cut("worker", "shard"));
  pass(3s);  // Longer than the session timeout, without any message.
  ASSERT_EQ(shard_.counters().mended, 1U);
  ASSERT_TRUE(network_.cut("worker", "shard"));
  pass(10ms);
  send_all(2);
  pass(100ms);
  expect_all(at_shard_, 2);
  expect_all(at_worker_, 2);
  EXPECT_EQ(shard_.counters().mended, 2U);
}

TEST_F(TakeoverTest, AcksComeOnceThoughTheLinkThatToldThemBroke) {
  at_shard_.when_data = [this](LinkId link) {
    shard_.ack(link, at_shard_.data.back().header.push_sequence, true);
  };
  send_all(4);
  for (int i = 0; i < 6; ++i) {
    pass(2ms);
    network_.cut("worker", "shard");
  }
  pass(300ms);
  expect_all(at_shard_, 4);
  EXPECT_THAT(at_worker_.acked, SizeIs(4));
}

// For every position of the first, second and third break.
TEST(Takeover, LinksMayBreakAtAnyMoment) {
  struct Cut : TakeoverTest {
    explicit Cut(int at) : TakeoverTest(static_cast<std::uint64_t>(at)) {}
    void TestBody() override {}
    int cuts = 0;
    std::uint64_t again = 0;  // Frames that left and were lost.
    void run(int at) {
      send_all(2);
      for (int i = 0; i < 3; ++i) {
        pass(at * 173us / (i + 1));
        cuts += network_.cut("worker", "shard") ? 1 : 0;
      }
      const Time late = clock_.now() + 1s;
      while (clock_.now() < late && !(worker_.queue().idle() && shard_.queue().idle())) turn();
      again += worker_.counters().frames_out + shard_.counters().frames_out -
               worker_.counters().frames_in - shard_.counters().frames_in;
      expect_all(at_shard_, 2);
      expect_all(at_worker_, 2);
    }
  };
  int cuts = 0;
  std::uint64_t again = 0;
  for (int at = 0; at < 60; ++at) {
    SCOPED_TRACE(at);
    Cut test(at);
    test.run(at);
    cuts += test.cuts;
    again += test.again;
    if (testing::Test::HasFailure()) return;
  }
  EXPECT_GE(cuts, 120) << "some come while there is no link";
  EXPECT_GE(again, 120U) << "else little was in flight";
}

TEST_F(TakeoverTest, LinksThatLoseFramesAreMadeAnew) {
  network_.lose_next("worker", "shard");
  send_all(2);
  pass(100ms);
  expect_all(at_shard_, 2);
  expect_all(at_worker_, 2);
  EXPECT_GE(shard_.counters().mended, 1U);
}

TEST_F(TakeoverTest, APeerThatIsGoneIsHeardOfWhenPatienceEnds) {
  network_.kill("worker");
  pass(1900ms);
  EXPECT_THAT(at_shard_.broken, SizeIs(0));
  pass(200ms);
  ASSERT_THAT(at_shard_.broken, SizeIs(1));
  EXPECT_EQ(at_shard_.broken[0].second.code(), Code::kLinkBroken);
  EXPECT_FALSE(shard_.links().is_open(near_shard_));
}

TEST_F(TakeoverTest, SessionEndsWhenPeerStopsListening) {
  network_.kill("shard");
  pass(2100ms);
  EXPECT_THAT(at_worker_.broken, SizeIs(1));
  EXPECT_TRUE(worker_.queue().idle());
}

TEST_F(TakeoverTest, ASessionThatTheFarEndClosedIsNotTakenOver) {
  shard_.links().close(near_shard_);
  pass(100ms);
  ASSERT_THAT(at_worker_.broken, SizeIs(1));
  EXPECT_THAT(at_worker_.broken[0].second.cause(), HasSubstr("no such session"));
}

TEST_F(TakeoverTest, LocallyClosedLinkStaysClosed) {
  network_.cut("worker", "shard");
  turn();
  worker_.links().close(link_);
  pass(3s);
  EXPECT_THAT(at_worker_.broken, SizeIs(0));
  EXPECT_EQ(worker_.counters().mended, 0U);
}

TEST_F(TakeoverTest, ShuttingEndsTheLeasesOfAParted) {
  bool ended = false;
  std::vector<std::byte> memory(1000);
  worker_.send(link_, fake::push_header({1, 1}, 1),
               Buffer::borrow(memory, [&ended] { ended = true; }));
  worker_.step(at_worker_, Duration::zero());
  network_.kill("shard");
  turn();
  EXPECT_FALSE(ended) << "it may have to be sent again";
  worker_.shut();
  EXPECT_TRUE(ended);
}

class WithoutPatience : public TakeoverTest {
 protected:
  WithoutPatience() : TakeoverTest(1, 0s) {}
};

TEST_F(WithoutPatience, ASessionEndsWithItsLink) {
  network_.cut("worker", "shard");
  turn();
  EXPECT_THAT(at_shard_.broken, SizeIs(1));
  EXPECT_THAT(at_worker_.broken, SizeIs(1));
}

// ---- valid and invalid resume requests

// A shard under script: the contents of a resume request, and the answer.
class ClaimTest : public testing::Test {
 protected:
  static constexpr std::uint64_t kName = 4711;

  explicit ClaimTest(Duration patience = 2s)
      : van_(fake::scripted_transport(wire_), clock_, {.limits = {.patience = patience}}) {
    van_.set_node(kShard);
    worker_.connect();
    control::Hello hello = fake::hello(Role::kWorker, 0, kWorker);
    hello.session = kName;
    worker_.say(hello);
    step();
    van_.links().admit(worker_.link(), kWorker);
    van_.send_control(worker_.link(), fake::welcome(kWorker, 0));
    step();
    worker_.controls();
  }

  void step() { van_.step(seen_, Duration::zero()); }
  control::Resume claim() {
    return {
        .protocol = wire::kProtocol, .token = "secret", .session = kName, .link = 2, .received = 1};
  }
  // Sends it over a separate link, as this node.
  void say(LinkId link, const control::Resume& claim, NodeId node = kWorker) {
    fake::FarEnd far(wire_, link, node);
    far.connect();
    far.send({}, control::encode(claim));
    step();
  }
  control::Message answer(LinkId link) {
    for (auto at = wire_.sent.begin(); at != wire_.sent.end(); ++at) {
      if (at->link != link) continue;
      Result<control::Message> message = control::decode(at->payload);
      wire_.sent.erase(at);
      return *message;
    }
    return control::Leave{};
  }
  void expect_refused(LinkId link, const std::string& says) {
    const control::Message message = answer(link);
    ASSERT_TRUE(control::is<control::Fault>(message));
    EXPECT_EQ(std::get<control::Fault>(message).why.code(), Code::kRefused);
    EXPECT_THAT(std::get<control::Fault>(message).why.cause(), HasSubstr(says));
    worker_.say(fake::leave());
    step();
    EXPECT_THAT(seen_.controls, SizeIs(2)) << "the session goes on over its own link";
  }

  sim::VirtualClock clock_;
  fake::Wire wire_;
  fake::Recorder seen_;
  fake::FarEnd worker_{wire_, 101, kWorker};
  Van van_;
};

TEST_F(ClaimTest, ValidClaimTakesOverAndFencesOldLink) {
  say(102, claim());
  const control::Message message = answer(102);
  ASSERT_TRUE(control::is<control::Resumed>(message));
  EXPECT_EQ(std::get<control::Resumed>(message).received, 1U) << "the hello";
  EXPECT_TRUE(worker_.closed());
  worker_.say(fake::leave());
  worker_.break_link();
  step();
  EXPECT_THAT(seen_.controls, SizeIs(1)) << "nothing of the old link counts";
  EXPECT_THAT(seen_.broken, SizeIs(0));
  fake::FarEnd anew(wire_, 102, kWorker);
  anew.sequence = 1;
  anew.say(fake::leave());
  step();
  ASSERT_THAT(seen_.controls, SizeIs(2));
  EXPECT_EQ(seen_.controls[1].first, worker_.link()) << "the session goes by its first link";
}

TEST_F(ClaimTest, AnotherTokenIsRefused) {
  control::Resume wrong = claim();
  wrong.token = "guess";
  say(102, wrong);
  expect_refused(102, "no such session");
}

TEST_F(ClaimTest, AnotherIncarnationDoesNotKnowTheName) {
  control::Resume wrong = claim();
  wrong.session = kName + 1;
  say(102, wrong);
  expect_refused(102, "no such session");
}

TEST_F(ClaimTest, SessionsWithoutANameCannotBeClaimed) {
  control::Resume wrong = claim();
  wrong.session = 0;
  say(102, wrong);
  expect_refused(102, "no such session");
}

TEST_F(ClaimTest, AnotherNodeIsRefused) {
  say(102, claim(), kWorker + 1);
  expect_refused(102, "no such session");
}

TEST_F(ClaimTest, AnotherProtocolIsRefused) {
  control::Resume wrong = claim();
  wrong.protocol = wire::kProtocol + 1;
  say(102, wrong);
  expect_refused(102, "of protocol");
}

TEST_F(ClaimTest, FramesThatWereNeverSentCannotHaveCome) {
  control::Resume wrong = claim();
  wrong.received = 3;
  say(102, wrong);
  expect_refused(102, "wanted 0 to 1");
}

TEST_F(ClaimTest, AnOlderLinkThatComesLateIsRefused) {
  control::Resume third = claim();
  third.link = 3;
  say(103, third);
  EXPECT_TRUE(control::is<control::Resumed>(answer(103)));
  say(102, claim());
  const control::Message message = answer(102);
  ASSERT_TRUE(control::is<control::Fault>(message));
  EXPECT_THAT(std::get<control::Fault>(message).why.cause(), HasSubstr("link 2 of a session came"));
}

TEST_F(ClaimTest, AClaimOnALinkThatHasGreetedIsNone) {
  worker_.send({}, control::encode(claim()));
  step();
  EXPECT_EQ(van_.counters().mended, 0U);
}

class ClaimWithoutPatience : public ClaimTest {
 protected:
  ClaimWithoutPatience() : ClaimTest(0s) {}
};

TEST_F(ClaimWithoutPatience, ClaimIsRefused) {
  say(102, claim());
  expect_refused(102, "do not outlive");
}

}  // namespace
}  // namespace stretto

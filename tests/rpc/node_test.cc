// SPDX-License-Identifier: Apache-2.0
// Calls in virtual time: overtaking, changes of priority, pauses and cancellation, and that every
// call ends once with the right bytes.
#include "rpc/node.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "tests/common/effort.h"
#include "tests/rpc/node_fixture.h"

namespace stretto::rpc {
namespace {

using fake::bytes;
using fake::Pair;
using fake::same;
using testing::ElementsAre;
using testing::HasSubstr;

Handler echo() {
  return [](const Request& request, Reply reply) { reply.send(request.message); };
}

/// Keeps replies until the test sends them.
struct Shelf {
  std::vector<std::pair<Request, Reply>> kept;
  Handler handler() {
    return [this](Request request, Reply reply) {
      kept.emplace_back(std::move(request), std::move(reply));
    };
  }
};

// ---- order

TEST(RpcNode, AnUrgentCallOvertakesALargeOneThatIsInFlight) {
  for (const bool local : {false, true}) {
    Pair pair(1, {.local = local});
    std::vector<std::string> came;
    pair.server.on("large", [&came](const Request&, Reply reply) {
      came.emplace_back("large");
      reply.send({});
    });
    pair.server.on("urgent", [&came](const Request&, Reply reply) {
      came.emplace_back("urgent");
      reply.send({});
    });
    const Call large = pair.client.call(pair.peer, "large", bytes(kMaxMessageBytes, 1));
    ASSERT_TRUE(pair.until([&] { return pair.client.node.van().counters().data_bytes_out > 0; }));
    const Call urgent = pair.client.call(pair.peer, "urgent", {}, {.priority = 1});
    ASSERT_TRUE(pair.until_done(urgent));
    EXPECT_FALSE(large.done());
    EXPECT_LT(pair.client.node.van().counters().data_bytes_out, std::size_t{8} << 20);
    ASSERT_TRUE(pair.until_done(large));
    EXPECT_THAT(came, ElementsAre("urgent", "large"));
  }
}

TEST(RpcNode, AnUrgentAnswerOvertakesALargeOne) {
  Pair pair;
  pair.server.on("echo", echo());
  pair.server.on("large", [](const Request&, Reply reply) { reply.send(bytes(32 << 20, 1)); });
  const Call large = pair.client.call(pair.peer, "large", {});
  ASSERT_TRUE(pair.until([&] { return pair.client.node.van().counters().data_bytes_in > 0; }));
  const Call urgent = pair.client.call(pair.peer, "echo", "now", {.priority = 3});
  ASSERT_TRUE(pair.until_done(urgent));
  EXPECT_FALSE(large.done());
  ASSERT_TRUE(pair.until_done(large));
  EXPECT_TRUE(same(large.wait().or_exit(), bytes(32 << 20, 1)));
}

TEST(RpcNode, DeadlineBreaksPriorityTiesBothWays) {
  Pair pair;
  Shelf shelf;
  pair.server.on("keep", shelf.handler());
  const Time now = pair.clock.now();
  std::vector<int> done;
  std::vector<Call> calls;
  for (const int i : {3, 1, 2}) {
    calls.push_back(pair.client.call(pair.peer, "keep", bytes(100'000, 1),
                                     {.priority = 7, .deadline = now + i * 1s}));
    calls.back().on_done([&done, i](const Result<Message>&) { done.push_back(i); });
  }
  ASSERT_TRUE(pair.until([&] { return shelf.kept.size() == 3; }));
  for (auto& [request, reply] : shelf.kept) {
    EXPECT_EQ(request.priority, 7);
    EXPECT_LE(request.deadline, now + 4s) << "as seen here, so with the way it took";
    EXPECT_GT(request.deadline, now);
  }
  for (auto& [request, reply] : shelf.kept) reply.send(bytes(100'000, 2));
  ASSERT_TRUE(pair.until([&] { return done.size() == 3; }));
  EXPECT_THAT(done, ElementsAre(1, 2, 3));
}

// ---- changes after the start

TEST(RpcNode, APausedCallWaitsInTheMiddleAndGoesOn) {
  Pair pair;
  pair.server.on("echo", echo());
  const std::vector<std::byte> sent = bytes(4 << 20, 1);
  const Call call = pair.client.call(pair.peer, "echo", sent);
  ASSERT_TRUE(
      pair.until([&] { return pair.client.node.van().counters().data_bytes_out > 1 << 20; }));
  call.pause();
  ASSERT_TRUE(pair.until_done(pair.client.call(pair.peer, "echo", bytes(2 << 20, 2))));
  EXPECT_FALSE(call.done());
  call.resume();
  ASSERT_TRUE(pair.until_done(call));
  EXPECT_TRUE(same(call.wait().or_exit(), sent));
}

TEST(RpcNode, PauseAndResumeReachTheAnswer) {
  for (const bool answered_before : {false, true}) {
    Pair pair;
    Shelf shelf;
    pair.server.on("keep", shelf.handler());
    pair.server.on("echo", echo());
    const Call call = pair.client.call(pair.peer, "keep", {});
    ASSERT_TRUE(pair.until([&] { return shelf.kept.size() == 1; }));
    if (answered_before) shelf.kept[0].second.send(bytes(8 << 20, 1));
    call.pause();
    const Call mark = pair.client.call(pair.peer, "echo", {});
    ASSERT_TRUE(pair.until_done(mark));
    if (!answered_before) shelf.kept[0].second.send(bytes(8 << 20, 1));
    ASSERT_TRUE(pair.until_done(pair.client.call(pair.peer, "echo", bytes(9 << 20, 1))));
    EXPECT_FALSE(call.done());
    call.resume();
    ASSERT_TRUE(pair.until_done(call));
    EXPECT_TRUE(same(call.wait().or_exit(), bytes(8 << 20, 1)));
  }
}

TEST(RpcNode, ACancelledAnswerStopsComing) {
  Pair pair;
  pair.server.on("large", [](const Request&, Reply reply) { reply.send(bytes(60 << 20, 1)); });
  const Call call = pair.client.call(pair.peer, "large", {});
  ASSERT_TRUE(
      pair.until([&] { return pair.client.node.van().counters().data_bytes_in > 1 << 20; }));
  call.cancel();
  EXPECT_EQ(call.wait().status().code(), Code::kCancelled);
  ASSERT_TRUE(pair.until([&] { return pair.idle(); }));
  EXPECT_LT(pair.client.node.van().counters().data_bytes_in, std::size_t{20} << 20);
}

TEST(RpcNode, ACancelledCallNeverReachesItsHandler) {
  Pair pair;
  Shelf shelf;
  pair.server.on("keep", shelf.handler());
  const Call call = pair.client.call(pair.peer, "keep", bytes(8 << 20, 1));
  ASSERT_TRUE(
      pair.until([&] { return pair.client.node.van().counters().data_bytes_out > 1 << 20; }));
  call.cancel();
  EXPECT_EQ(call.wait().status().code(), Code::kCancelled);
  ASSERT_TRUE(pair.until([&] { return pair.idle(); }));
  EXPECT_TRUE(shelf.kept.empty());
}

TEST(RpcNode, AChangedPriorityOvertakesOnTheWayBackToo) {
  Pair pair;
  Shelf shelf;
  pair.server.on("keep", shelf.handler());
  std::vector<int> done;
  std::vector<Call> calls;
  for (const int i : {1, 2}) {
    calls.push_back(pair.client.call(pair.peer, "keep", {}));
    calls.back().on_done([&done, i](const Result<Message>&) { done.push_back(i); });
  }
  ASSERT_TRUE(pair.until([&] { return shelf.kept.size() == 2; }));
  for (auto& [request, reply] : shelf.kept) reply.send(bytes(16 << 20, 1));
  ASSERT_TRUE(
      pair.until([&] { return pair.client.node.van().counters().data_bytes_in > 1 << 20; }));
  calls[1].set_priority(5);
  ASSERT_TRUE(pair.until([&] { return done.size() == 2; }));
  EXPECT_THAT(done, ElementsAre(2, 1));
}

// ---- ends

TEST(RpcNode, TimeoutsEndCallsInEveryState) {
  Pair pair;
  Shelf shelf;
  pair.server.on("keep", shelf.handler());
  pair.server.on("large", [](const Request&, Reply reply) { reply.send(bytes(60 << 20, 1)); });
  const Call waiting = pair.client.call(pair.peer, "keep", {}, {.timeout = 1s});
  waiting.pause();
  const Call handled = pair.client.call(pair.peer, "keep", {}, {.timeout = 1s});
  const Call coming = pair.client.call(pair.peer, "large", {}, {.timeout = 20ms});
  ASSERT_TRUE(pair.until([&] { return waiting.done() && handled.done() && coming.done(); }));
  for (const Call& call : {waiting, handled, coming}) {
    EXPECT_EQ(call.wait().status().code(), Code::kTimeout);
  }
  ASSERT_EQ(shelf.kept.size(), 1U);
  EXPECT_TRUE(pair.until([&] { return pair.idle() && !shelf.kept[0].second.wanted(); }));
}

TEST(RpcNode, ALinkThatIsResetCostsCallsTimeOnly) {
  Pair pair;
  Shelf shelf;
  pair.server.on("keep", shelf.handler());
  const Call handled = pair.client.call(pair.peer, "keep", {});
  ASSERT_TRUE(pair.until([&] { return shelf.kept.size() == 1; }));
  const Call large = pair.client.call(pair.peer, "keep", bytes(8 << 20, 1));
  ASSERT_TRUE(pair.network.cut("server", "client"));
  ASSERT_TRUE(pair.until([&] { return shelf.kept.size() == 2; }));
  shelf.kept[0].second.send("an answer");
  shelf.kept[1].second.send("another");
  ASSERT_TRUE(pair.until([&] { return handled.done() && large.done(); }));
  EXPECT_TRUE(handled.wait().ok());
  EXPECT_TRUE(large.wait().ok());
  EXPECT_EQ(shelf.kept.size(), 2U) << "each came once";
}

TEST(RpcNode, ALinkThatStaysSilentEndsCallsAtBothEnds) {
  Pair pair;
  Shelf shelf;
  pair.server.on("keep", shelf.handler());
  const Call handled = pair.client.call(pair.peer, "keep", {});
  ASSERT_TRUE(pair.until([&] { return shelf.kept.size() == 1; }));
  const Call back = pair.server.call(shelf.kept[0].first.from, "any", bytes(8 << 20, 1));
  ASSERT_TRUE(pair.network.hush("server", "client", 0));
  ASSERT_TRUE(pair.network.hush("client", "server", 0));
  ASSERT_TRUE(pair.until([&] { return handled.done() && back.done(); }));
  EXPECT_EQ(handled.wait().status().code(), Code::kPeerLost);
  EXPECT_EQ(back.wait().status().code(), Code::kPeerLost);
  EXPECT_FALSE(shelf.kept[0].second.wanted());
  shelf.kept[0].second.send("to nobody");
  EXPECT_EQ(pair.client.call(pair.peer, "keep", {}).wait().status().code(), Code::kPeerLost);
}

TEST(RpcNode, CloseGivesAnswersFiveSecondsAndNoMore) {
  Pair pair;
  Shelf shelf;
  pair.server.on("keep", shelf.handler());
  const Call answered = pair.client.call(pair.peer, "keep", {});
  const Call pending = pair.client.call(pair.peer, "keep", {});
  ASSERT_TRUE(pair.until([&] { return shelf.kept.size() == 2; }));
  shelf.kept[0].second.send(bytes(8 << 20, 1));
  pair.server.node.close();
  ASSERT_TRUE(pair.until([&] { return pair.server.node.over(); }));
  EXPECT_TRUE(answered.wait().ok());
  EXPECT_EQ(pending.wait().status().code(), Code::kCancelled);
  EXPECT_THAT(pending.wait().status().cause(), HasSubstr("closing"));

  Pair silent;
  silent.server.on("large", [](const Request&, Reply reply) { reply.send(bytes(8 << 20, 1)); });
  const Call never = silent.client.call(silent.peer, "large", {});
  ASSERT_TRUE(silent.until([&] { return silent.client.node.van().counters().data_bytes_in > 0; }));
  silent.network.silence("client");
  silent.server.node.close();
  const Time began = silent.clock.now();
  ASSERT_TRUE(silent.until([&] { return silent.server.node.over(); }));
  EXPECT_LE(silent.clock.now() - began, 5100ms);
}

TEST(RpcNode, MoreThanMayBeHeldIsAnsweredWithAnError) {
  EndpointNode::Settings limits = fake::settings();
  limits.max_calls = 2;
  limits.max_held_bytes = 1000;
  Pair pair(1, {}, limits);
  Shelf shelf;
  pair.server.on("keep", shelf.handler());
  const Call first = pair.client.call(pair.peer, "keep", bytes(600, 1));
  const Call too_much = pair.client.call(pair.peer, "keep", bytes(600, 1));
  const Call second = pair.client.call(pair.peer, "keep", bytes(400, 1));
  const Call too_many = pair.client.call(pair.peer, "keep", {});
  ASSERT_TRUE(pair.until([&] { return too_much.done() && too_many.done(); }));
  EXPECT_EQ(too_much.wait().status().code(), Code::kResource);
  EXPECT_THAT(too_much.wait().status().cause(), HasSubstr("hold 600 bytes, with 600 more"));
  EXPECT_THAT(too_many.wait().status().cause(), HasSubstr("2 calls of this peer wait"));
  first.cancel();
  const Call still_too_many = pair.client.call(pair.peer, "keep", {});
  ASSERT_TRUE(pair.until_done(still_too_many));
  EXPECT_FALSE(still_too_many.wait().ok()) << "a cancelled call counts while its handler has it";
  ASSERT_EQ(shelf.kept.size(), 2U);
  for (auto& [request, reply] : shelf.kept) reply.send("done");
  ASSERT_TRUE(pair.until_done(second));
  EXPECT_EQ(second.wait().or_exit().text(), "done");
  EXPECT_FALSE(pair.client.call(pair.peer, "keep", bytes(1001, 1)).done());
}

TEST(RpcNode, AnswersThatWaitAreHeldToo) {
  EndpointNode::Settings limits = fake::settings();
  limits.max_held_bytes = 1000;
  Pair pair(1, {}, limits);
  Shelf shelf;
  pair.server.on("keep", shelf.handler());
  pair.server.on("echo", echo());
  const Call paused = pair.client.call(pair.peer, "keep", {});
  ASSERT_TRUE(pair.until([&] { return shelf.kept.size() == 1; }));
  paused.pause();
  ASSERT_TRUE(pair.until_done(pair.client.call(pair.peer, "echo", {})));  // Behind the pause.
  shelf.kept[0].second.send(bytes(600, 1));
  const Call too_much = pair.client.call(pair.peer, "echo", bytes(600, 2));
  ASSERT_TRUE(pair.until_done(too_much));
  EXPECT_EQ(too_much.wait().status().code(), Code::kResource);
  EXPECT_THAT(too_much.wait().status().cause(), HasSubstr("hold 600 bytes, with 600 more"));
  paused.resume();
  ASSERT_TRUE(pair.until_done(paused));
  EXPECT_TRUE(same(paused.wait().or_exit(), bytes(600, 1)));
  const Call again = pair.client.call(pair.peer, "echo", bytes(600, 2));
  ASSERT_TRUE(pair.until_done(again));
  EXPECT_TRUE(again.wait().ok());
}

TEST(RpcNode, PausedCallsBeyondByteLimitFailAlone) {
  EndpointNode::Settings limits = fake::settings();
  limits.max_held_bytes = 1'000'000;
  Pair pair(1, {}, limits);
  pair.server.on("echo", echo());
  std::vector<Call> paused;
  for (std::size_t i = 0; i < 4; ++i) {
    paused.push_back(pair.client.call(pair.peer, "echo", bytes(900'000, i)));
    const std::uint64_t out = pair.client.node.van().counters().data_bytes_out;
    ASSERT_TRUE(pair.until([&] { return pair.client.node.van().counters().data_bytes_out > out; }));
    paused.back().pause();
  }
  for (const Call& call : paused) call.resume();
  for (const Call& call : paused) ASSERT_TRUE(pair.until_done(call));
  EXPECT_TRUE(same(paused[0].wait().or_exit(), bytes(900'000, 0)));
  for (std::size_t i = 1; i < 4; ++i) {
    EXPECT_EQ(paused[i].wait().status().code(), Code::kResource);
  }
  const Call next = pair.client.call(pair.peer, "echo", bytes(900'000, 9));
  ASSERT_TRUE(pair.until_done(next));
  EXPECT_TRUE(same(next.wait().or_exit(), bytes(900'000, 9)));
}

TEST(RpcNode, PausedCallsBeyondLinkLimitStallNoCall) {
  constexpr std::size_t kCalls = wire::kMaxBegun + 8;
  Pair pair;
  pair.server.on("echo", echo());
  std::vector<Call> paused;
  std::uint64_t out = 0;
  for (std::size_t i = 0; i < kCalls; ++i) {
    paused.push_back(pair.client.call(pair.peer, "echo", bytes(1'000'000 + i, i)));
    out = pair.client.node.van().counters().data_bytes_out;
    ASSERT_TRUE(pair.until([&] { return pair.client.node.van().counters().data_bytes_out > out; }));
    paused.back().pause();
  }
  const Call large = pair.client.call(pair.peer, "echo", bytes(3'000'000, 99));
  ASSERT_TRUE(pair.until_done(large));
  EXPECT_TRUE(same(large.wait().or_exit(), bytes(3'000'000, 99)));
  for (const Call& call : paused) EXPECT_FALSE(call.done());
  for (const Call& call : paused) call.resume();
  for (std::size_t i = 0; i < kCalls; ++i) {
    ASSERT_TRUE(pair.until_done(paused[i]));
    EXPECT_TRUE(same(paused[i].wait().or_exit(), bytes(1'000'000 + i, i)));
  }
  EXPECT_TRUE(pair.until([&] { return pair.idle(); }));
}

// ---- everything at once

/// Both ends call, change, pause, cancel and answer late, at random.
class Turmoil {
 public:
  explicit Turmoil(std::uint64_t seed)
      : random_(seed), pair_(seed, {.bytes_per_second = 2e8, .local = random_.chance(0.3)}) {
    for (fake::Party* party : {&pair_.server, &pair_.client}) {
      party->on("echo", echo());
      party->on("late", [this](Request request, Reply reply) {
        late_.emplace_back(std::move(request), std::move(reply));
      });
      party->on("drop", [](const Request&, const Reply&) {});
      party->on("peer", [this](const Request& request, Reply reply) {
        server_peer_ = request.from;
        reply.send({});
      });
    }
    EXPECT_TRUE(pair_.until_done(pair_.client.call(pair_.peer, "peer", {})));
  }

  void run(int calls) {
    for (int i = 0; i < calls; ++i) {
      begin();
      for (std::uint64_t n = random_.below(4); n > 0; --n) meddle();
      for (std::uint64_t n = random_.below(6); n > 0; --n) pair_.step();
      if (random_.chance(0.3)) answer_one();
    }
    for (const Begun& begun : begun_) begun.call.resume();
    for (const Begun& begun : begun_) {
      ASSERT_TRUE(pair_.until([&] {
        while (!late_.empty()) answer_one();
        return begun.call.done();
      }));
      check(begun);
    }
    EXPECT_TRUE(pair_.until([&] {
      while (!late_.empty()) answer_one();
      return pair_.idle();
    }));
    EXPECT_GT(answered_, begun_.size() / 2);
    EXPECT_EQ(told_, begun_.size());
  }

 private:
  struct Begun {
    Call call;
    std::string method;
    std::uint64_t size = 0;
    std::uint64_t seed = 0;
    bool cancelled = false;
  };

  void begin() {
    static constexpr const char* kMethods[] = {"echo", "echo", "late", "late", "drop", "none"};
    const bool from_client = random_.chance(0.5);
    fake::Party& party = from_client ? pair_.client : pair_.server;
    Begun begun;
    begun.method = kMethods[random_.below(random_.chance(0.9) ? 4 : 6)];
    begun.size = random_.chance(0.05) ? random_.below(3'000'000) : random_.below(20'000);
    begun.seed = random_.below(1000);
    CallOptions options;
    options.priority = static_cast<int>(random_.below(4));
    options.timeout = 1h;
    if (random_.chance(0.3)) options.deadline = pair_.clock.now() + random_.between(0s, 1s);
    begun.call = party.call(from_client ? pair_.peer : server_peer_, begun.method,
                            bytes(begun.size, begun.seed), options);
    begun.call.on_done([this](const Result<Message>&) { ++told_; });
    begun_.push_back(std::move(begun));
  }

  void meddle() {
    Begun& begun =
        begun_[begun_.size() - 1 - random_.below(std::min<std::size_t>(begun_.size(), 60))];
    switch (random_.below(8)) {
      case 0:
      case 1:
        begun.call.set_priority(static_cast<int>(random_.below(6)));
        break;
      case 2:
        begun.call.set_deadline(pair_.clock.now() + random_.between(0s, 1s));
        break;
      case 3:
      case 4:
        begun.call.pause();
        break;
      case 5:
      case 6:
        begun.call.resume();
        break;
      default:
        if (random_.chance(0.3) && !begun.call.done()) {
          begun.call.cancel();
          begun.cancelled = true;
        }
    }
  }

  void answer_one() {
    if (late_.empty()) return;
    const auto chosen = late_.begin() + static_cast<std::ptrdiff_t>(random_.below(late_.size()));
    auto [request, reply] = std::move(*chosen);
    late_.erase(chosen);
    reply.send(request.message);
  }

  void check(const Begun& begun) {
    const Result<Message> answer = begun.call.wait();
    if (begun.cancelled) {
      EXPECT_EQ(answer.status().code(), Code::kCancelled);
    } else if (begun.method == "none") {
      EXPECT_EQ(answer.status().code(), Code::kUnsupported);
    } else if (begun.method == "drop") {
      EXPECT_EQ(answer.status().code(), Code::kCancelled);
    } else {
      ASSERT_TRUE(answer.ok()) << answer.status().text();
      ASSERT_TRUE(same(*answer, bytes(begun.size, begun.seed)));
      ++answered_;
    }
  }

  sim::Random random_;
  std::vector<std::pair<Request, Reply>> late_;
  Pair pair_;
  Peer server_peer_;  // The client, by the server's id.
  std::vector<Begun> begun_;
  std::size_t told_ = 0;
  std::size_t answered_ = 0;
};

TEST(RpcNode, RandomOperationsEndEveryCallOnce) {
  for (std::uint64_t seed = 1; seed <= repeated(12U); ++seed) {
    SCOPED_TRACE(seed);
    Turmoil turmoil(seed);
    turmoil.run(600);
    if (testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace stretto::rpc

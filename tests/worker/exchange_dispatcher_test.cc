// SPDX-License-Identifier: Apache-2.0
// A worker's side of a tensor with a simulated shard: parts, order, completion and errors, and when
// the user's memory is released.
#include "worker/exchange/exchange_dispatcher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/worker/exchanges_fixture.h"

namespace stretto {
namespace {

using fake::bytes_of;
using fake::ExchangeTest;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

// ---- round trips

TEST_F(ExchangeTest, ATensorGoesInPartsAndEndsWhenTheLastHasCome) {
  add(1, 5);
  const auto operation = push_pull(1, source_, target_);
  const auto sent = shard_.data();
  ASSERT_EQ(sent.size(), 3U);
  EXPECT_THAT(fake::floats_of(sent[1].payload.bytes()), ElementsAre(3, 4));
  EXPECT_THAT(fake::floats_of(sent[2].payload.bytes()), ElementsAre(5));
  EXPECT_EQ(sent[2].header.key, (wire::Key{1, 2}));
  value({1, 2}, 1, {50});
  value({1, 0}, 1, {10, 20});
  EXPECT_FALSE(operation->ticket->done());
  EXPECT_FALSE(exchange_.operations().idle());
  value({1, 1}, 1, {30, 40});
  EXPECT_TRUE(operation->ticket->done());
  EXPECT_TRUE(operation->ticket->wait_for(0s).ok());
  EXPECT_THAT(target_, ElementsAre(10, 20, 30, 40, 50));
  EXPECT_TRUE(exchange_.operations().idle());
}

TEST_F(ExchangeTest, TheUsersMemoryTravelsUncopied) {
  wire_.lend = true;
  add(1, 2);
  source_.resize(2);
  target_.resize(2);
  push_pull(1, source_, target_);
  EXPECT_EQ(static_cast<const void*>(shard_.datum().payload.data()), source_.data());
}

TEST_F(ExchangeTest, SourceAndTargetMayBeTheSameMemory) {
  add(1, 5);
  const auto operation = push_pull(1, source_, source_);
  (void)shard_.data();
  value({1, 0}, 1, {10, 20});
  value({1, 1}, 1, {30, 40});
  value({1, 2}, 1, {50});
  EXPECT_TRUE(operation->ticket->done());
  EXPECT_THAT(source_, ElementsAre(10, 20, 30, 40, 50));
}

TEST_F(ExchangeTest, HeadersCarryRoundBaseAndWantedValue) {
  add(1, 2);
  source_.resize(2);
  target_.resize(2);
  start(Kind::kPushPull, 1, &source_, &target_, 9);
  wire::Header header = shard_.datum().header;
  EXPECT_EQ(header.kind, wire::Kind::kPush);
  EXPECT_EQ(header.flags, wire::kWantsValue);
  EXPECT_EQ(header.dtype, static_cast<std::uint8_t>(Dtype::kF32));
  EXPECT_EQ(header.priority, 9);
  EXPECT_EQ(wire::PushFrame::of(header).round, 1U);
  EXPECT_EQ(wire::PushFrame::of(header).computed_from, 0U);
  value({1, 0}, 4, {1, 1});
  push_pull(1, source_, target_);
  header = shard_.datum().header;
  EXPECT_EQ(wire::PushFrame::of(header).round, 2U);
  EXPECT_EQ(wire::PushFrame::of(header).computed_from, 4U);
}

TEST_F(ExchangeTest, BroadcastSendsRootDataAndPresence) {
  add(1, 2);
  source_.resize(2);
  target_.resize(2);
  start(Kind::kBroadcastRoot, 1, &source_, &source_);
  const fake::Sent root = shard_.datum();
  EXPECT_EQ(root.header.flags, wire::kWantsValue | wire::kAssign);
  EXPECT_EQ(root.payload.size(), 8U);
  add(2, 2);
  start(Kind::kBroadcastReceiver, 2, nullptr, &target_, 0, 3);
  const fake::Sent receiver = shard_.datum();
  EXPECT_EQ(receiver.header.flags, wire::kWantsValue | wire::kAssign | wire::kAbsent);
  EXPECT_EQ(wire::PushFrame::of(receiver.header).root, 3U);
  EXPECT_TRUE(receiver.payload.empty());
}

TEST_F(ExchangeTest, ListenerIsUncountedAndMayGetValue) {
  add(1, 2);
  target_.resize(2);
  start(Kind::kListen, 1, nullptr, &target_);
  const fake::Sent listens = shard_.datum();
  EXPECT_EQ(listens.header.flags, wire::kWantsValue | wire::kAbsent | wire::kUncounted);
  EXPECT_TRUE(listens.payload.empty());
  add(2, 2);
  start(Kind::kListen, 2, nullptr, nullptr);
  EXPECT_EQ(shard_.datum().header.flags, wire::kAbsent | wire::kUncounted);
  add(3, 2, {.mode = Mode::kAsync});
  EXPECT_EQ(start(Kind::kListen, 3, nullptr, nullptr)->ticket->wait_for(0s).code(),
            Code::kInvalidArgument);
}

TEST_F(ExchangeTest, BroadcastWithLostRootFailsUnchanged) {
  add(1, 5);
  auto operation = std::make_shared<Operation>();
  operation->kind = Kind::kBroadcastReceiver;
  operation->tensor = {.id = 1, .dtype = Dtype::kF32, .elements = 5};
  operation->target = std::as_writable_bytes(std::span(target_));
  operation->root_view = 3;
  operation->come_together();
  operation->ticket = std::make_shared<detail::TicketState>(1);
  exchange_.start(operation);
  step();
  EXPECT_EQ(wire::PushFrame::of(shard_.data().front().header).root_view, 3U);
  for (const std::uint32_t part : {0U, 2U}) {
    auto answer = wire::ValueFrame::of(value_header({1, part}, 1));
    answer.answers_push = true;
    shard_.send(answer.header(), bytes_of(Floats(part == 2 ? 1 : 2, 9)));
    step();
  }
  EXPECT_FALSE(operation->ticket->done());
  done({1, 1}, 1);
  expect_failed(operation, Code::kMembersChanged, "begin it again");
  EXPECT_THAT(target_, Each(0));
  const OperationPtr again = start(Kind::kBroadcastRoot, 1, &source_, &source_);
  EXPECT_EQ(shard_.data().size(), 3U);
  for (const std::uint32_t part : {0U, 1U, 2U}) value({1, part}, 2, Floats(part == 2 ? 1 : 2, 9));
  EXPECT_TRUE(again->ticket->wait_for(0s).ok());
}

TEST_F(ExchangeTest, AnEmptyTensorEndsAtOnceAndSendsNothing) {
  add(1, 0);
  Floats none;
  EXPECT_TRUE(push_pull(1, none, none)->ticket->wait_for(0s).ok());
  EXPECT_TRUE(shard_.data().empty());
}

TEST_F(ExchangeTest, LateWorkerCountsStalenessFromFirstValue) {
  add(1, 2, {.mode = Mode::kBounded, .bound = 1});
  tensors_.come_late();
  add(2, 2, {.mode = Mode::kAsync});
  target_.resize(2);
  for (const std::uint32_t tensor : {1U, 2U}) {
    const auto first = start(Kind::kPull, tensor, nullptr, &target_);
    value({tensor, 0}, 1000, {1, 1});
    EXPECT_EQ(first->ticket->info().version, 1000U);
    EXPECT_EQ(first->ticket->info().staleness, 0U);
    const auto next = start(Kind::kPull, tensor, nullptr, &target_);
    value({tensor, 0}, 1003, {1, 1});
    EXPECT_EQ(next->ticket->info().staleness, 3U);
  }
}

TEST_F(ExchangeTest, TheTicketTellsHowStaleTheValueIs) {
  add(1, 4, {.mode = Mode::kAsync});
  source_.resize(4);
  target_.resize(4);
  const auto operation = push_pull(1, source_, target_);
  auto frame = wire::ValueFrame::of(value_header({1, 0}, 5));
  frame.facts = {.version = 5, .slowest = 2, .own_applied = 1, .spread = 3};
  shard_.send(frame.header(), bytes_of({1, 1}));
  frame.key.part = 1;
  frame.facts.version = 4;
  frame.facts.spread = 1;
  shard_.send(frame.header(), bytes_of({1, 1}));
  step();
  const ValueInfo info = operation->ticket->info();
  EXPECT_EQ(info.version, 4U) << "the oldest part speaks";
  EXPECT_EQ(info.staleness, 4U) << "five had been applied, one of them ours";
  EXPECT_EQ(info.applied, 1U);
  EXPECT_EQ(info.slowest, 2U);
  EXPECT_EQ(info.spread, 3U);
}

// ---- order

TEST_F(ExchangeTest, APartHasOneRoundOpenAndTheOthersWait) {
  add(1, 4);
  source_.resize(4);
  target_.resize(4);
  const auto first = push_pull(1, source_, target_);
  const auto second = push_pull(1, source_, target_);
  EXPECT_EQ(shard_.data().size(), 2U);
  value({1, 1}, 1, {1, 1});
  const fake::Sent next = shard_.datum();
  EXPECT_EQ(next.header.key.part, 1U) << "parts go on by themselves";
  EXPECT_EQ(wire::PushFrame::of(next.header).round, 2U);
  EXPECT_FALSE(first->ticket->done());
  value({1, 1}, 2, {1, 1});
  EXPECT_FALSE(second->ticket->done());
  value({1, 0}, 1, {1, 1});
  EXPECT_TRUE(first->ticket->done());
  value({1, 0}, 2, {1, 1});
  EXPECT_TRUE(second->ticket->done());
}

TEST_F(ExchangeTest, APushEndsWithItsAckAndTheNextWaitsForTheRound) {
  add(1, 2);
  source_.resize(2);
  const auto first = start(Kind::kPush, 1, &source_, nullptr);
  const auto second = start(Kind::kPush, 1, &source_, nullptr);
  EXPECT_EQ(shard_.datum().header.flags, 0);
  ack(1);
  EXPECT_TRUE(first->ticket->done());
  EXPECT_TRUE(shard_.data().empty()) << "a second share would be refused";
  done({1, 0}, 1);
  EXPECT_EQ(wire::PushFrame::of(shard_.datum().header).round, 2U);
  EXPECT_FALSE(second->ticket->done());
}

TEST_F(ExchangeTest, APullMayGoWhileOurRoundIsOpenAndAsksForIt) {
  add(1, 2);
  source_.resize(2);
  target_.resize(2);
  start(Kind::kPush, 1, &source_, nullptr);
  (void)shard_.data();
  const auto pull = start(Kind::kPull, 1, nullptr, &target_);
  EXPECT_TRUE(shard_.data().empty()) << "not before the push is known to have arrived";
  ack(1);
  const fake::Sent sent = shard_.datum();
  EXPECT_EQ(sent.header.kind, wire::Kind::kPull);
  EXPECT_EQ(wire::PullFrame::of(sent.header).least_version, 1U);
  value({1, 0}, 1, {7, 8});
  EXPECT_TRUE(pull->ticket->done());
  EXPECT_THAT(target_, ElementsAre(7, 8));
}

TEST_F(ExchangeTest, AsyncPushesDoNotWaitForRounds) {
  add(1, 2, {.mode = Mode::kAsync});
  source_.resize(2);
  start(Kind::kPush, 1, &source_, nullptr);
  start(Kind::kPush, 1, &source_, nullptr);
  EXPECT_EQ(shard_.data().size(), 1U);
  ack(1);
  EXPECT_EQ(shard_.data().size(), 1U);
}

// ---- invalid input

TEST_F(ExchangeTest, AnUndeclaredTensorIsRefused) {
  expect_failed(push_pull(9, source_, target_), Code::kInvalidArgument,
                "tensor 9 was not declared");
}

TEST_F(ExchangeTest, IgnoresUnrequestedValues) {
  add(1, 2);
  value({1, 0}, 1, {1, 1});
  value({1, 7}, 1, {1, 1});
  value({9, 0}, 1, {1, 1});
  done({1, 7}, 1);
  exchange_.servers().on_acked({{1, 0}, 0});
  exchange_.servers().on_acked({{9, 0}, 0});
  EXPECT_TRUE(exchange_.operations().idle());
}

TEST_F(ExchangeTest, AValueOfAnotherSizeFailsTheTensorForGood) {
  add(1, 2);
  source_.resize(2);
  target_.resize(2);
  const auto operation = push_pull(1, source_, target_);
  (void)shard_.data();
  value({1, 0}, 1, {1, 2, 3});
  pass(10ms);
  expect_failed(operation, Code::kMalformed, "a value of 12 bytes came, wanted 8");
  EXPECT_EQ(operation->ticket->wait_for(0s).operation(), "push_pull 'tensor1'");
  EXPECT_THAT(target_, ElementsAre(0, 0)) << "nothing was written past the end or before it";
  expect_failed(push_pull(1, source_, target_), Code::kMalformed, "12 bytes");
}

TEST_F(ExchangeTest, AValueOfAnotherDtypeFailsTheTensor) {
  add(1, 2);
  target_.resize(2);
  const auto operation = start(Kind::kPull, 1, nullptr, &target_);
  wire::Header header = value_header({1, 0}, 1);
  header.dtype = static_cast<std::uint8_t>(Dtype::kI32);
  shard_.send(header, bytes_of({1, 2}));
  step();
  expect_failed(operation, Code::kMalformed, "tensor1");
}

// Users own the struct: one kept from an earlier worker may have the id of another tensor of this
// worker, with memory of the earlier tensor's size.
TEST_F(ExchangeTest, ATensorThatIsNotTheDeclaredOneIsRefused) {
  add(1, 5);
  for (const Tensor& other : {Tensor{.id = 1, .dtype = Dtype::kF32, .elements = 4},
                              Tensor{.id = 1, .dtype = Dtype::kF32, .elements = 6},
                              Tensor{.id = 1, .dtype = Dtype::kF64, .elements = 5}}) {
    for (const Kind kind : {Kind::kPushPull, Kind::kPull, Kind::kBroadcastReceiver, Kind::kProbe}) {
      const auto operation = start(kind, other, &source_, &target_);
      expect_failed(operation, Code::kInvalidArgument, "was declared by this worker as f32[5]");
    }
  }
  EXPECT_THAT(start(Kind::kPull, {1, Dtype::kF64, 4}, nullptr, &target_)->ticket->wait().cause(),
              HasSubstr("is given as f64[4]"));
  EXPECT_TRUE(shard_.data().empty());
  EXPECT_TRUE(exchange_.operations().idle());
}

// ---- failing

TEST_F(ExchangeTest, FailingATensorEndsAllOfItAndNothingElse) {
  add(1, 2);
  add(2, 2);
  source_.resize(2);
  target_.resize(2);
  van_.set_windows(1, 1);
  const auto first = push_pull(1, source_, target_);
  const auto waiting = push_pull(1, source_, target_);
  const auto other = push_pull(2, source_, target_);
  (void)shard_.data();
  exchange_.fail_tensor(1, {Code::kMismatch, "two roots"});
  pass(10ms);
  expect_failed(first, Code::kMismatch, "two roots");
  expect_failed(waiting, Code::kMismatch, "two roots");
  EXPECT_FALSE(other->ticket->done());
  value({1, 0}, 1, {5, 5});  // Too late, so it is not written anywhere.
  EXPECT_THAT(target_, ElementsAre(0, 0));
  (void)shard_.data();
  value({2, 0}, 1, {6, 6});
  EXPECT_TRUE(other->ticket->wait_for(0s).ok());
}

TEST_F(ExchangeTest, FramesThatStillWaitAreDroppedWithTheirTensor) {
  add(1, 4);
  source_.resize(4);
  target_.resize(4);
  van_.set_windows(1, 1);
  const auto operation = push_pull(1, source_, target_);
  EXPECT_EQ(van_.queue().waiting(), 1U) << "the window let one part go";
  exchange_.fail_tensor(1, {Code::kMismatch, "x"});
  EXPECT_EQ(van_.queue().waiting(), 0U);
}

TEST_F(ExchangeTest, AnOperationThatIsDoneEndsWhenItsFramesAreGone) {
  wire_.lend = true;
  add(1, 2);
  source_.resize(2);
  target_.resize(2);
  const auto operation = push_pull(1, source_, target_);
  auto held = shard_.data();
  value({1, 0}, 1, {5, 6});
  EXPECT_FALSE(operation->ticket->done()) << "the transport may still read from the source";
  EXPECT_FALSE(exchange_.operations().idle());
  const std::size_t wakes = wire_.wakes;
  held.clear();
  EXPECT_EQ(wire_.wakes, wakes + 1) << "or the loop would not look";
  step();
  EXPECT_TRUE(operation->ticket->wait_for(0s).ok());
  EXPECT_THAT(target_, ElementsAre(5, 6));
}

TEST_F(ExchangeTest, FailedOperationKeepsMemoryUntilFramesGo) {
  wire_.lend = true;
  add(1, 2);
  source_.resize(2);
  target_.resize(2);
  const auto operation = push_pull(1, source_, target_);
  auto held = shard_.data();  // The transport has not released them yet.
  exchange_.fail_tensor(1, {Code::kMismatch, "x"});
  pass(1s);
  EXPECT_FALSE(operation->ticket->done());
  EXPECT_FALSE(exchange_.operations().idle());
  EXPECT_FALSE(exchange_.operations().stuck());
  EXPECT_LE(exchange_.operations().next_due(), clock_.now() + 10ms);
  pass(2s);
  EXPECT_TRUE(exchange_.operations().stuck());
  held.clear();
  pass(10ms);
  expect_failed(operation, Code::kMismatch, "x");
  EXPECT_TRUE(exchange_.operations().idle());
  EXPECT_FALSE(exchange_.operations().stuck());
}

TEST_F(ExchangeTest, AnOperationPastItsDeadlineFailsItsTensor) {
  add(1, 4);
  target_.resize(4);
  const auto operation = start(Kind::kPull, 1, nullptr, &target_);
  EXPECT_EQ(exchange_.operations().next_due(), clock_.now() + 20s);
  value({1, 0}, 1, {1, 1});
  pass(19s);
  EXPECT_FALSE(operation->ticket->done());
  pass(1s);
  expect_failed(operation, Code::kTimeout, "not done after 20 s, 1 of 2 parts are missing");
  EXPECT_EQ(exchange_.operations().next_due(), Time::max());
}

TEST_F(ExchangeTest, NamesLongestWaitingOperation) {
  add(1, 4);
  target_.resize(4);
  EXPECT_EQ(exchange_.operations().oldest(clock_.now()), nullptr);
  const Time begun = clock_.now();
  const auto operation = start(Kind::kPull, 1, nullptr, &target_);
  pass(1s);
  EXPECT_EQ(exchange_.operations().oldest(begun - 1ns), nullptr);
  const Operation* oldest = exchange_.operations().oldest(begun);
  ASSERT_NE(oldest, nullptr);
  EXPECT_EQ(exchange_.operations().describe(*oldest), "pull 'tensor1'");
  exchange_.operations().set_elsewhere("worker 1 waits in push_pull 'y'");
  pass(19s);
  expect_failed(operation, Code::kTimeout, "; meanwhile worker 1 waits in push_pull 'y'");
  EXPECT_EQ(exchange_.operations().with_elsewhere({Code::kPeerLost, "gone"}).cause(), "gone");
}

TEST_F(ExchangeTest, FailingAllEndsEverything) {
  add(1, 2);
  add(2, 2);
  source_.resize(2);
  target_.resize(2);
  const auto first = push_pull(1, source_, target_);
  const auto second = start(Kind::kPull, 2, nullptr, &target_);
  (void)shard_.data();
  exchange_.end_all({Code::kPeerLost, "worker 1 is lost"});
  expect_failed(first, Code::kPeerLost, "worker 1 is lost");
  expect_failed(second, Code::kPeerLost, "worker 1 is lost");
  EXPECT_TRUE(exchange_.operations().idle());
}

}  // namespace
}  // namespace stretto

// SPDX-License-Identifier: Apache-2.0
// Tensors with a codec at a worker, with a simulated shard: sent and received bytes, and the
// ownership of memory while another thread encodes or decodes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/worker/exchanges_fixture.h"

namespace stretto {
namespace {

using fake::bytes_of;
using testing::HasSubstr;

class ExchangeCoding : public fake::ExchangeTest {
 protected:
  void add_coded(std::string_view codec, Mode mode = Mode::kSync) {
    spec_ = *codec_from(codec);
    add(1, 5, {.mode = mode, .codec = spec_});
  }
  Buffer encoded(const Floats& numbers) const {
    Buffer out = Buffer::allocate(ops::encoded_bytes(spec_, numbers.size()));
    ops::encode(spec_, numbers, {}, out.writable());
    return out;
  }
  Floats decoded(const fake::Sent& sent, std::size_t count) const {
    EXPECT_EQ(sent.header.codec, static_cast<int>(spec_.codec));
    EXPECT_TRUE(ops::check_encoded(spec_, count, sent.payload.bytes()).ok());
    Floats out(count);
    ops::decode(spec_, sent.payload.bytes(), out, ops::Then::kAssign);
    return out;
  }
  void encoded_value(std::uint32_t part, std::uint64_t version, const Buffer& payload,
                     int codec = -1) {
    wire::Header header = value_header({1, part}, version);
    header.codec = static_cast<std::uint8_t>(codec < 0 ? static_cast<int>(spec_.codec) : codec);
    shard_.send(header, payload);
    step();
  }

  CodecSpec spec_;
};

TEST_F(ExchangeCoding, SharesLeaveEncodedAndValuesAreDecoded) {
  add_coded("onebit,scaling=true");
  const OperationPtr operation = push_pull(1, source_, target_);
  const std::vector<fake::Sent> sent = shard_.data();
  ASSERT_EQ(sent.size(), 3U);
  EXPECT_EQ(decoded(sent[0], 2), (Floats{1.5F, 1.5F}));
  EXPECT_EQ(decoded(sent[2], 1), (Floats{5}));
  EXPECT_EQ(operation->leases.load(), 0U) << "frames carry memory of their own";
  encoded_value(0, 1, encoded({3, -3}));
  encoded_value(1, 1, encoded({-1, 1}));
  value({1, 2}, 1, {7});  // Uncoded, like a broadcast's value that is pulled.
  EXPECT_TRUE(operation->ticket->done());
  EXPECT_EQ(target_, (Floats{3, -3, -1, 1, 7}));
}

TEST_F(ExchangeCoding, ErrorFeedbackCarriesLossToNextPush) {
  add_coded("topk,k=1,ef=vanilla");
  Floats first = {3, 2, 0, 0, 0};
  const OperationPtr one = start(Kind::kPush, 1, &first, nullptr);
  EXPECT_EQ(decoded(shard_.data()[0], 2), (Floats{3, 0}));
  ack(3);
  for (std::uint32_t part = 0; part < 3; ++part) done({1, part}, 1);
  Floats second = {1, 0, 0, 0, 0};
  const OperationPtr two = start(Kind::kPush, 1, &second, nullptr);
  EXPECT_EQ(decoded(shard_.data()[0], 2), (Floats{0, 2}));
  ack(6);
  EXPECT_TRUE(one->ticket->done() && two->ticket->done());
}

TEST_F(ExchangeCoding, BroadcastIsUncodedAndClearsFeedback) {
  add_coded("topk,k=1,ef=vanilla");
  Floats share = {3, 2, 0, 0, 0};
  const OperationPtr pushed = start(Kind::kPush, 1, &share, nullptr);
  ack(3);
  for (std::uint32_t part = 0; part < 3; ++part) done({1, part}, 1);
  shard_.data();
  const OperationPtr root = start(Kind::kBroadcastRoot, 1, &source_, &target_);
  const std::vector<fake::Sent> sent = shard_.data();
  ASSERT_EQ(sent.size(), 3U);
  EXPECT_EQ(sent[0].header.codec, 0);
  EXPECT_EQ(fake::floats_of(sent[0].payload.bytes()), (Floats{1, 2}));
  value({1, 0}, 2, {1, 2});
  value({1, 1}, 2, {3, 4});
  value({1, 2}, 2, {5});
  EXPECT_TRUE(root->ticket->done());
  Floats small = {1, 0, 0, 0, 0};
  const OperationPtr next = start(Kind::kPush, 1, &small, nullptr);
  EXPECT_EQ(decoded(shard_.data()[0], 2), (Floats{1, 0}));
}

TEST_F(ExchangeCoding, ValuesThatAreNoneOfOursFailTheTensor) {
  std::uint32_t id = 10;
  const auto expect_refused = [&](int codec, const Buffer& payload, const char* says) {
    add(++id, 2, {.codec = *codec_from("topk,k=1")});
    Floats source(2);
    Floats target(2);
    const OperationPtr operation = start(Kind::kPushPull, id, &source, &target);
    wire::Header header = value_header({id, 0}, 1);
    header.codec = static_cast<std::uint8_t>(codec);
    shard_.send(header, payload);
    step();
    expect_failed(operation, Code::kMalformed, says);
    EXPECT_EQ(target, Floats(2));
  };
  const auto topk = static_cast<int>(Codec::kTopk);
  expect_refused(topk, Buffer::allocate(4), "4 bytes came for 2 elements as topk, wanted 8");
  const std::uint32_t outside[] = {2, 0};
  expect_refused(topk, Buffer::copy_of(std::as_bytes(std::span(outside))), "place 2 of 2");
  expect_refused(static_cast<int>(Codec::kFp16), Buffer::allocate(4), "came as fp16, wanted topk");
  expect_refused(0, Buffer::allocate(4), "a value of 4 bytes came, wanted 8");
  add(2, 2);
  Floats source(2);
  Floats target(2);
  const OperationPtr plain = start(Kind::kPushPull, 2, &source, &target);
  wire::Header header = value_header({2, 0}, 1);
  header.codec = static_cast<std::uint8_t>(Codec::kFp16);
  shard_.send(header, Buffer::allocate(4));
  step();
  expect_failed(plain, Code::kMalformed, "a value of 4 bytes came, wanted 8");
}

TEST_F(ExchangeCoding, ThePartIsBusyWhileItsWorkIsDoneElsewhere) {
  add_coded("fp16");
  coder_->hold = true;
  const OperationPtr first = push_pull(1, source_, target_);
  EXPECT_EQ(shard_.data().size(), 0U);
  EXPECT_EQ(first->leases.load(), 3U);
  Floats other(5);
  const OperationPtr second = push_pull(1, source_, other);
  EXPECT_EQ(coder_->waiting.size(), 3U);
  coder_->go_on();
  step();
  EXPECT_EQ(shard_.data().size(), 3U);
  const Buffer payload = encoded({1, 2});
  encoded_value(0, 1, payload);
  encoded_value(0, 1, encoded({8, 8}));  // A duplicate.
  EXPECT_EQ(coder_->waiting.size(), 1U);
  EXPECT_FALSE(second->ticket->done());
  coder_->go_on();
  EXPECT_EQ(target_, (Floats{1, 2, 0, 0, 0}));
  EXPECT_EQ(coder_->waiting.size(), 1U) << "the second one's share of that part";
}

TEST_F(ExchangeCoding, MemoryIsKeptUntilWorkThatHasBegunIsDone) {
  add_coded("fp16");
  coder_->hold = true;
  const OperationPtr operation = push_pull(1, source_, target_);
  const std::vector<fake::HeldCoder::Held> begun = coder_->begin_all();
  exchange_.fail_tensor(1, {Code::kCancelled, "the job has ended"});
  EXPECT_FALSE(operation->ticket->done()) << "its source is still read";
  EXPECT_FALSE(exchange_.operations().idle());
  for (const auto& held : begun) {
    held.work();
    held.then();
  }
  exchange_.tick();
  expect_failed(operation, Code::kCancelled, "the job has ended");
  EXPECT_EQ(shard_.data().size(), 0U);
}

TEST_F(ExchangeCoding, FailedTensorDropsUnstartedEncodings) {
  add_coded("fp16");
  coder_->hold = true;
  const OperationPtr operation = push_pull(1, source_, target_);
  EXPECT_EQ(operation->leases.load(), 3U);
  exchange_.fail_tensor(1, {Code::kMismatch, "they differ"});
  expect_failed(operation, Code::kMismatch, "they differ");
  EXPECT_TRUE(coder_->waiting.empty());
  EXPECT_TRUE(exchange_.operations().idle());
}

TEST_F(ExchangeCoding, AnOperationHasFewEncodingsAtATime) {
  exchange_.servers().set_most_encoded(9);  // Two parts of 4 bytes.
  add_coded("fp16");
  const OperationPtr operation = push_pull(1, source_, target_);
  EXPECT_EQ(operation->encoded_bytes, 8U);
  EXPECT_EQ(operation->to_encode.size(), 1U);
  EXPECT_EQ(shard_.data().size(), 2U);
  Floats other(2);
  add(2, 2, {.codec = spec_});
  push_pull(2, other, other);
  EXPECT_EQ(shard_.data().size(), 1U) << "others have room of their own";
  ack(1);
  EXPECT_EQ(shard_.data().size(), 1U);
  EXPECT_EQ(operation->encoded_bytes, 4U + 2U);
  encoded_value(1, 1, encoded({3, 4}));
  encoded_value(0, 1, encoded({1, 2}));
  encoded_value(2, 1, encoded({5}));
  EXPECT_TRUE(operation->ticket->done());
  EXPECT_EQ(operation->encoded_bytes, 0U);
  EXPECT_EQ(target_, (Floats{1, 2, 3, 4, 5}));
}

TEST_F(ExchangeCoding, ALargePartIsEncodedAlone) {
  exchange_.servers().set_most_encoded(1);
  add_coded("fp16");
  const OperationPtr first = start(Kind::kPush, 1, &source_, nullptr);
  for (std::uint64_t part = 1; part <= 3; ++part) {
    EXPECT_EQ(shard_.data().size(), 1U);
    EXPECT_FALSE(first->ticket->done());
    ack(part);
  }
  EXPECT_TRUE(first->ticket->done());
}

TEST_F(ExchangeCoding, PartAwaitingEncodingFailsWithTensor) {
  exchange_.servers().set_most_encoded(1);
  add_coded("fp16");
  const OperationPtr operation = push_pull(1, source_, target_);
  exchange_.fail_tensor(1, {Code::kMismatch, "they differ"});
  expect_failed(operation, Code::kMismatch, "they differ");
  EXPECT_TRUE(operation->to_encode.empty());
  ack(1);
  EXPECT_EQ(shard_.data().size(), 1U) << "what had left";
}

TEST_F(ExchangeCoding, CancelledDecodingPullFreesPart) {
  add_coded("fp16");
  const OperationPtr pull = start(Kind::kPull, 1, nullptr, &target_);
  shard_.data();
  coder_->hold = true;
  encoded_value(0, 1, encoded({1, 2}));
  exchange_.steer(pull, {.kind = detail::Change::Kind::kCancel});
  EXPECT_FALSE(pull->ticket->done());
  coder_->go_on();
  exchange_.tick();
  expect_failed(pull, Code::kCancelled, "cancelled");
  const OperationPtr next = start(Kind::kPull, 1, nullptr, &target_);
  EXPECT_EQ(shard_.data().size(), 1U);
}

TEST_F(ExchangeCoding, AShareThatHasBeenEncodedIsNotCancelled) {
  add_coded("onebit,ef=vanilla");
  add(2, 1);
  van_.set_windows(1, 1);
  Floats other(1);
  push_pull(2, {1}, other);  // Fills the window, so that no frame of the next push is sent.
  const OperationPtr operation = push_pull(1, source_, target_);
  EXPECT_EQ(van_.queue().backlog().untouched(operation->id), operation->parts_begun);
  exchange_.steer(operation, {.kind = detail::Change::Kind::kCancel});
  EXPECT_FALSE(operation->ticket->done()) << "what its codec owes counts on it";
  EXPECT_TRUE(operation->in_flight);
}

TEST_F(ExchangeCoding, AValueBeforeItsShareIsRefused) {
  add_coded("fp16");
  coder_->hold = true;
  const OperationPtr operation = push_pull(1, source_, target_);
  value({1, 0}, 1, {7, 7});
  coder_->go_on();
  exchange_.tick();
  expect_failed(operation, Code::kMalformed, "before our share had left");
  EXPECT_TRUE(shard_.data().empty()) << "of a tensor that has failed";
}

}  // namespace
}  // namespace stretto

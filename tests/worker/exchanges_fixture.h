// SPDX-License-Identifier: Apache-2.0
// An exchange with a simulated shard.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "tests/van/far_end.h"
#include "tests/van/recorder.h"
#include "worker/exchange/exchange_dispatcher.h"

namespace stretto::fake {

/// With `hold`, keeps the work of codecs until the test runs it. Thread: loop.
class HeldCoder final : public CodecExecutor {
 public:
  void run(const Piece& piece, const Work& work, const Work& then) override {
    if (!hold) return CodecExecutor::run(piece, work, then);
    waiting.push_back({piece.operation, work, then});
  }
  void discard(std::uint64_t operation) override {
    std::erase_if(waiting, [operation](const Held& held) { return held.operation == operation; });
  }
  void go_on() {
    for (const Held& held : begin_all()) {
      held.work();
      held.then();
    }
  }
  struct Held {
    std::uint64_t operation;
    Work work;
    Work then;
  };
  /// Takes the held work as begun: discard() has no effect on it.
  std::vector<Held> begin_all() { return std::exchange(waiting, {}); }

  bool hold = false;
  std::vector<Held> waiting;
};

/// Thread: loop.
class ExchangeTest : public testing::Test {
 protected:
  using Kind = Operation::Kind;
  using Floats = std::vector<float>;
  using OperationPtr = std::shared_ptr<Operation>;
  static constexpr LinkId kShard = 1;
  static constexpr std::uint32_t kPartBytes = 8;  // Two floats.

  ExchangeTest() {
    van_.set_node(10);
    EXPECT_TRUE(van_.links().connect("shard0:1", hello(Role::kWorker, 0)).ok());
    shard_.say(welcome(10, 0));
    step();
    van_.links().admit(kShard, 50);
    shard_.controls();
  }

  void step() {
    Recorder seen;
    van_.step(seen, Duration::zero());
    for (const auto& [link, push] : seen.acked) exchange_.servers().on_acked(push);
    for (const auto& data : seen.data) exchange_.servers().on_data(data.header, data.payload);
    exchange_.tick();
    van_.step(seen, Duration::zero());
  }
  void pass(Duration time) {
    clock_.advance_to(clock_.now() + time);
    step();
  }
  void add(std::uint32_t id, std::uint64_t elements, const TensorOptions& options = {}) {
    const TensorSpec made =
        fake::spec("tensor" + std::to_string(id), Dtype::kF32, elements, options);
    const Cut cut(made, kPartBytes);
    tensors_.add(id, made, cut, std::vector<LinkId>(cut.parts(), kShard));
  }
  OperationPtr start(Kind kind, std::uint32_t id, const Floats* source, Floats* target,
                     int priority = 0, Rank root = 0) {
    const TensorState* declared = tensors_.find(id);
    const std::uint64_t elements = declared == nullptr ? 0 : declared->spec.elements;
    return start(kind, {.id = id, .dtype = Dtype::kF32, .elements = elements}, source, target,
                 priority, root);
  }
  OperationPtr start(Kind kind, const Tensor& tensor, const Floats* source, Floats* target,
                     int priority = 0, Rank root = 0) {
    auto operation = std::make_shared<Operation>();
    operation->kind = kind;
    operation->tensor = tensor;
    if (source != nullptr) operation->source = std::as_bytes(std::span(*source));
    if (target != nullptr) operation->target = std::as_writable_bytes(std::span(*target));
    operation->priority = priority;
    operation->root = root;
    operation->ticket = std::make_shared<detail::TicketState>(1);
    exchange_.start(operation);
    step();
    return operation;
  }
  OperationPtr push_pull(std::uint32_t id, const Floats& source, Floats& target) {
    return start(Kind::kPushPull, id, &source, &target);
  }
  static wire::Header value_header(wire::Key key, std::uint64_t version) {
    return wire::ValueFrame{.key = key, .facts = {.version = version}, .dtype = Dtype::kF32}
        .header();
  }
  void value(wire::Key key, std::uint64_t version, const Floats& numbers) {
    shard_.send(value_header(key, version), bytes_of(numbers));
    step();
  }
  void done(wire::Key key, std::uint64_t version) {
    shard_.send(wire::DoneFrame{.key = key, .facts = {.version = version, .own_applied = version}}
                    .header());
    step();
  }
  void ack(std::uint64_t pushes) {
    shard_.acked = pushes;
    shard_.say(leave());  // Any frame carries acks.
    step();
  }
  static void expect_failed(const OperationPtr& operation, Code code, const char* says) {
    ASSERT_TRUE(operation->ticket->done());
    EXPECT_EQ(operation->ticket->wait_for(0s).code(), code);
    EXPECT_THAT(operation->ticket->wait_for(0s).cause(), testing::HasSubstr(says));
  }

  sim::VirtualClock clock_;
  Wire wire_;
  Van van_{scripted_transport(wire_), clock_};
  HeldCoder* coder_ = new HeldCoder;  // The exchange owns it.
  Tensors tensors_;
  ExchangeDispatcher exchange_{van_, clock_, tensors_, 20s, std::unique_ptr<CodecExecutor>(coder_)};
  FarEnd shard_{wire_, kShard, 50};
  Floats source_{1, 2, 3, 4, 5};
  Floats target_ = Floats(5);
};

}  // namespace stretto::fake

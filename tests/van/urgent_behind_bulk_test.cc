// SPDX-License-Identifier: Apache-2.0
// Two Vans at 1 Gbit/s in virtual time, with bulk traffic and urgent messages: the latency of
// urgent messages, and the number of slices of bulk.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "tests/sim/sim_network.h"
#include "van/engine/van.h"

namespace stretto {
namespace {

constexpr std::uint32_t kGradient = 1;  // Tensors.
constexpr std::uint32_t kUrgentTensor = 2;

/// One end: it answers urgent messages, and sends a part of bulk for each one that arrived.
class Host final : public Van::Handler {
 public:
  Host(sim::SimNetwork& network, const sim::VirtualClock& clock, const std::string& name,
       NodeId node)
      : clock_(clock), node_(node), van_(network.endpoint(name), clock) {
    van_.set_node(node);
  }

  Van& van() { return van_; }
  Time answered() const { return answered_; }
  void connect(const std::string& address) {
    ASSERT_TRUE(van_.links().connect(address, {.protocol = wire::kProtocol, .node = node_}).ok());
  }
  void start_bulk() {
    for (int i = 0; i < 16; ++i) send_part();
  }
  void stop_bulk() { stopped_ = true; }
  void send_urgent(wire::Kind kind) {
    wire::Header header = header_of(kind, kUrgentTensor);
    header.priority = 10;
    van_.send(link_, header, Buffer::allocate(4096));
  }

 private:
  static wire::Header header_of(wire::Kind kind, std::uint32_t tensor) {
    wire::Header header;
    header.kind = kind;
    header.dtype = static_cast<std::uint8_t>(Dtype::kU8);
    header.key = {tensor, 0};
    return header;
  }
  void send_part() {
    van_.send(link_, header_of(wire::Kind::kPush, kGradient), part_, {.bulk = true});
  }

  void on_control(LinkId link, const control::Message& message) override {
    link_ = link;
    if (const auto* hello = std::get_if<control::Hello>(&message)) {
      van_.links().admit(link, hello->node);
      van_.send_control(link, control::Welcome{.node = hello->node});
    } else if (control::is<control::Welcome>(message)) {
      van_.links().admit(link, node_ ^ 1);
    }
  }
  void on_data(LinkId link, const wire::Header& header, Buffer) override {
    if (header.kind == wire::Kind::kValue) {
      answered_ = clock_.now();
      return;
    }
    van_.ack(link, header.push_sequence, false);
    if (header.key.tensor == kUrgentTensor) send_urgent(wire::Kind::kValue);
  }
  void on_acked(LinkId, wire::PushTag push) override {
    if (push.key.tensor == kGradient && !stopped_) send_part();
  }
  void on_broken(LinkId, const Status& why) override { ADD_FAILURE() << why.cause(); }

  const sim::VirtualClock& clock_;
  NodeId node_;
  Van van_;
  LinkId link_ = 0;
  Buffer part_ = Buffer::allocate(256 << 10);
  Time answered_ = {};
  bool stopped_ = false;
};

class UrgentBehindBulkTest : public testing::Test {
 protected:
  static constexpr double kRate = 125e6;

  UrgentBehindBulkTest() {
    const auto address = far_.van().listen("127.0.0.1:0");
    EXPECT_TRUE(address.ok());
    near_.connect(*address);
    run(5ms);
  }

  void turn() {
    near_.van().step(near_, Duration::zero());
    far_.van().step(far_, Duration::zero());
    const Time next =
        std::min({network_.next_arrival("near"), network_.next_arrival("far"),
                  near_.van().next_due(), far_.van().next_due(), clock_.now() + 100us});
    clock_.advance_to(std::max(next, clock_.now() + 2us));  // The duration of an iteration.
  }
  void run(Duration time) {
    for (const Time end = clock_.now() + time; clock_.now() < end;) turn();
  }
  /// The round trip of an urgent message, in milliseconds.
  double ask() {
    const Time sent = clock_.now();
    near_.send_urgent(wire::Kind::kPush);
    while (near_.answered() < sent && clock_.now() - sent < 1s) turn();
    return std::chrono::duration<double, std::milli>(near_.answered() - sent).count();
  }
  /// As ask(), every one to three milliseconds; sorted.
  std::vector<double> ask_often(int times) {
    std::vector<double> took;
    for (int i = 0; i < times; ++i) {
      run(1ms + std::chrono::microseconds(i * 617 % 2000));
      took.push_back(ask());
    }
    std::ranges::sort(took);
    return took;
  }
  /// Frames that leave the near end in `time`, for each megabyte of the link's capacity.
  double frames_per_megabyte(Duration time) {
    const std::uint64_t before = near_.van().counters().frames_out;
    run(time);
    const double megabytes = kRate / 1e6 * std::chrono::duration<double>(time).count();
    return static_cast<double>(near_.van().counters().frames_out - before) / megabytes;
  }

  sim::VirtualClock clock_;
  sim::SimNetwork network_{
      clock_, 1, {.least_latency = 20us, .most_latency = 30us, .bytes_per_second = kRate}};
  Host near_{network_, clock_, "near", 2};
  Host far_{network_, clock_, "far", 3};
};

TEST_F(UrgentBehindBulkTest, OnlyTheFirstWaitsForMilliseconds) {
  near_.start_bulk();
  run(300ms);
  const double quiet = frames_per_megabyte(100ms);
  EXPECT_LT(quiet, 18) << "slices of 64 KiB";
  EXPECT_GT(ask(), 2.0) << "nobody could know of it";
  run(10ms);
  const std::vector<double> others = ask_often(100);
  EXPECT_LT(others[50], 0.8);
  EXPECT_LT(others[95], 1.5);
  EXPECT_GT(frames_per_megabyte(100ms), 3 * quiet) << "it might go on";
  run(UrgencyDetector::kLeast + 150ms);  // The far end expects more for this long.
  EXPECT_NEAR(frames_per_megabyte(100ms), quiet, 1) << "it is over";
}

// The far end detects it by its own answers, which are as urgent as the requests.
TEST_F(UrgentBehindBulkTest, BothDirectionsYield) {
  near_.start_bulk();
  far_.start_bulk();
  run(300ms);
  EXPECT_GT(ask(), 3.0);
  run(10ms);
  const std::vector<double> others = ask_often(100);
  EXPECT_LT(others[50], 2.0);
  EXPECT_LT(others[95], 3.0);
}

TEST_F(UrgentBehindBulkTest, KnownUrgentFramePassesNewBulkAtOnce) {
  ask_often(3);
  near_.start_bulk();
  run(300ms);
  EXPECT_LT(ask(), 1.5) << "not the first one";
}

}  // namespace
}  // namespace stretto

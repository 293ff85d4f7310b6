// SPDX-License-Identifier: Apache-2.0
// A shard that is a primary or a standby; its counterpart, the scheduler and the workers are
// scripted.
#pragma once

#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "tests/server/shard_fixture.h"

namespace stretto::fake {

inline constexpr NodeId kServer = 50;
inline constexpr NodeId kStandby = 51;

template <typename T>
const T& as(const control::Message& message) {
  EXPECT_TRUE(control::is<T>(message));
  return std::get<T>(message);
}

/// Thread: loop.
class ReplicationTest : public ShardTest {
 protected:
  ReplicationTest() { roster_.settings.replicas = 2; }

  void add_standby() {
    roster_.members.push_back({.node = kStandby,
                               .role = Role::kServer,
                               .rank = 0,
                               .address = "shard1:1",
                               .moved_up = 1,
                               .standby = true});
  }
  void lose(NodeId node) {
    for (Member& member : roster_.members) {
      if (member.node == node) member.left = member.lost = true;
      if (member.node == kStandby && node == kServer) member.standby = false;
    }
    next_roster();
  }
  void next_roster() {
    ++roster_.epoch;
    say_scheduler(roster_);
  }
  // The nodes that the shard reports as in sync to a restarted scheduler, over this link.
  std::vector<NodeId> told_to_another(NodeId self, LinkId link) {
    later_.back().break_link();
    pass(500ms);
    FarEnd& next = later_.emplace_back(wire_, link, kSchedulerNode);
    next.say(welcome(self, 0));
    step();
    pass(100ms);
    std::vector<NodeId> told;
    for (const control::Message& message : next.controls()) {
      const auto* ready = std::get_if<control::StandbyReady>(&message);
      if (ready != nullptr) told.push_back(ready->node);
    }
    return told;
  }

  std::deque<FarEnd> later_{{wire_, 1, kSchedulerNode}};
};

/// A primary. Thread: loop.
class ServingTest : public ReplicationTest {
 protected:
  void begin_both(const TensorOptions& options = {}) {
    add_standby();
    begin();
    welcome_standby();
    scheduler_.controls();
    open(options);
    const auto said = standby_.controls();
    ASSERT_EQ(said.size(), 3U) << "a hello, that nothing lacks, and what the tensor is, once";
    as<control::StandbyReady>(said[1]);
    as<control::Open>(said[2]);
  }
  void welcome_standby() {
    standby_.say(welcome(kStandby, 0));
    step();
  }
  // Acknowledges this number of the server's frames as applied.
  void ack(std::uint64_t pushes) {
    wire::Header header;
    header.kind = wire::Kind::kCredit;
    standby_.acked = pushes;
    standby_.send(header);
    step();
  }
  std::vector<float> sent_to_standby() { return floats_of(standby_.datum().payload.bytes()); }

  FarEnd standby_{wire_, 2, kStandby};
};

/// A standby. Thread: loop.
class StandingByTest : public ReplicationTest {
 protected:
  StandingByTest() {
    config_.rank = 1;
    add_standby();
  }
  // Until the primary and one worker have connected.
  void begin_half() {
    shard_ = std::make_unique<Shard>(config_, 0, scripted_transport(wire_), clock_);
    ASSERT_TRUE(shard_->start("127.0.0.1:7000", "").ok());
    say_scheduler(welcome(kStandby, 0));
    say_scheduler(roster_);
    server_.connect();
    server_.say(hello(Role::kServer, 0, kServer));
    step();
    call_by(first_, 0);
  }
  void begin_both(const TensorOptions& options = {}) {
    begin_half();
    EXPECT_TRUE(server_.controls().empty()) << "one worker may not be able to reach it";
    call_by(second_, 1);
    as<control::Welcome>(server_.control());
    for (FarEnd* worker : {&first_, &second_}) {
      EXPECT_TRUE(as<control::Welcome>(worker->control()).stands_by);
    }
    server_.epoch = 1;
    server_.say(control::Open{.tensor = 1, .spec = spec("grads", Dtype::kF32, 2, options)});
    step();
  }
  void call_by(FarEnd& worker, Rank rank) {
    worker.connect();
    worker.say(hello(Role::kWorker, rank, worker.node));
    step();
  }
  void tell(const control::Message& message) {
    server_.say(message);
    step();
  }
  void send(std::uint64_t version, const Buffer& bytes, std::uint64_t offset = 0) {
    const wire::PushFrame push{
        .key = kKey, .round = version, .computed_from = offset, .dtype = Dtype::kU8};
    server_.send(push.header(), bytes);
    step();
  }
  void update(std::uint64_t version, const std::vector<float>& numbers, NodeId worker = 0) {
    tell(control::LogEntry{.tensor = 1, .version = version, .worker = worker, .total = 8});
    send(version, bytes_of(numbers));
  }
  std::uint64_t acked() {
    server_.data();
    return server_.heard_acked;
  }
  // Promotes the standby and informs both workers.
  void promote() {
    lose(kServer);
    as<control::Welcome>(first_.control());
    as<control::Welcome>(second_.control());
    first_.epoch = second_.epoch = 2;
  }
  std::string refusal() { return fault_at(server_, 0).cause(); }

  FarEnd server_{wire_, 201, kServer};
};

}  // namespace stretto::fake

// SPDX-License-Identifier: Apache-2.0
// SchedulerReturnsTest: a scheduler that is lost, its successor, and scripted members.
#pragma once

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <memory>
#include <optional>
#include <vector>

#include "common/descriptor.h"
#include "common/launch_protocol/exit_lines.h"
#include "common/log.h"
#include "scheduler/scheduler.h"
#include "tests/sim/sim_disk.h"
#include "tests/van/far_end.h"

namespace stretto {

// One process.
struct Life {
  Life(Config of, sim::SimDisk& disk, const Clock& clock, ExitNotices* ends)
      : config(std::move(of)) {
    std::set<std::string> restored;
    Result<RecoveredState> past = past_of(config, disk, restored);
    EXPECT_TRUE(past.ok()) << past.status().text();
    const std::vector<JournalRecord> records = std::move(past->records);
    scheduler.emplace(config, fake::scripted_transport(wire), clock, ends,
                      CheckpointKeeper::Files(), *std::move(past));
    if (!records.empty()) recovered = scheduler->recover(records);
    EXPECT_TRUE(scheduler->listen("127.0.0.1:9000").ok());
  }

  Config config;
  fake::Wire wire;
  std::optional<Scheduler> scheduler;
  Status recovered;
};

class SchedulerReturnsTest : public testing::Test {
 protected:
  explicit SchedulerReturnsTest(std::uint32_t min_workers = 0) {
    set_log_level(Level::kSilent);
    config_.servers = 1;
    config_.job.min_workers = min_workers;
    config_.job.server_restarts = min_workers == 0 ? 2 : 0;
    config_.scheduler_return = {.journal = "journal", .life = 1, .restarts = 3};
    next_life();
  }
  ~SchedulerReturnsTest() override { set_log_level(Level::kInfo); }

  /// A launcher reports exits from the next incarnation on.
  void begin_to_tell_ends() {
    int pair[2] = {-1, -1};
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    launcher_ = Descriptor(pair[0]);
    const Descriptor scheduler(pair[1]);
    ends_.emplace(scheduler.get());
  }
  void end_server() {
    const std::string line = line_of(MemberExit{Role::kServer, 0}) + "\n";
    ASSERT_EQ(::send(launcher_.get(), line.data(), line.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(line.size()));
    step();
  }
  void next_life() {
    life_.reset();  // Releases its lock.
    disk_.restart(sim::Crash::kProcess);
    config_.scheduler_return.restarts = 4 - config_.scheduler_return.life;
    life_ = std::make_unique<Life>(config_, disk_, clock_, ends_ ? &*ends_ : nullptr);
    ++config_.scheduler_return.life;
    links_ = 100;
  }
  void step() {
    life_->scheduler->step(Duration::zero());
    life_->scheduler->step(Duration::zero());
  }
  std::unique_ptr<fake::FarEnd> connect(NodeId as) {
    auto far = std::make_unique<fake::FarEnd>(life_->wire, ++links_, as);
    far->connect();
    return far;
  }
  std::unique_ptr<fake::FarEnd> join(Role role, Rank rank) {
    auto far = connect(0);
    far->say(fake::hello(role, rank));
    step();
    const auto heard = far->controls();
    EXPECT_FALSE(heard.empty());
    const auto welcome = std::get<control::Welcome>(heard.front());
    far->node = welcome.node;
    job_ = welcome.job;
    return far;
  }
  void gather() {
    server_ = join(Role::kServer, 0);
    first_ = join(Role::kWorker, 0);
    second_ = join(Role::kWorker, 1);
    for (fake::FarEnd* far : {server_.get(), first_.get(), second_.get()}) far->controls();
    nodes_ = {server_->node, first_->node, second_->node};
  }
  control::Hello again(Role role, Rank rank, NodeId node, std::uint32_t life = 1) const {
    control::Hello hello = fake::hello(role, rank);
    hello.node = node;
    hello.job = job_;
    hello.life = life;
    return hello;
  }
  /// The answer to a member that re-registers.
  std::vector<control::Message> come(std::unique_ptr<fake::FarEnd>& far,
                                     const control::Hello& hello) {
    far = connect(hello.node);
    far->say(hello);
    step();
    return far->controls();
  }
  void all_come() {
    come(server_, again(Role::kServer, 0, nodes_[0]));
    come(first_, again(Role::kWorker, 0, nodes_[1]));
    come(second_, again(Role::kWorker, 1, nodes_[2]));
  }
  void pass(Duration time, const std::vector<fake::FarEnd*>& alive) {
    for (const Time end = clock_.now() + time; clock_.now() < end; step()) {
      clock_.advance_to(std::min(end, clock_.now() + 100ms));
      for (fake::FarEnd* far : alive) far->say(fake::heartbeat());
    }
  }
  static control::Declared declared(fake::FarEnd& far) {
    for (const control::Message& message : far.controls()) {
      if (const auto* one = std::get_if<control::Declared>(&message)) return *one;
    }
    ADD_FAILURE() << "nothing was declared";
    return {};
  }
  control::Declared declare(fake::FarEnd& far, const TensorSpec& spec) {
    far.say(control::Declare{.spec = spec});
    step();
    return declared(far);
  }
  static const control::Barrier* barrier_in(const std::vector<control::Message>& heard) {
    for (const control::Message& message : heard) {
      if (const auto* one = std::get_if<control::Barrier>(&message)) return one;
    }
    return nullptr;
  }

  sim::SimDisk disk_{5};
  sim::VirtualClock clock_;
  Config config_ = fake::config(Role::kScheduler, -1);
  std::optional<ExitNotices> ends_;
  Descriptor launcher_;
  std::unique_ptr<Life> life_;
  LinkId links_ = 100;
  std::uint64_t job_ = 0;
  std::unique_ptr<fake::FarEnd> server_;
  std::unique_ptr<fake::FarEnd> first_;
  std::unique_ptr<fake::FarEnd> second_;
  std::vector<NodeId> nodes_;
};

}  // namespace stretto

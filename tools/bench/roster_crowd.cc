// SPDX-License-Identifier: Apache-2.0
// Each worker has a van and a membership of its own, as in a program; one thread steps them all.
#include "tools/bench/roster_crowd.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <vector>

#include "van/membership.h"
#include "van/transports.h"
#include "van/van.h"

namespace stretto::bench {
namespace {

constexpr Duration kBreak = 10ms;  // Between two looks at all of them.
constexpr std::uint64_t kElements = 4096;

Config config_of(const CrowdTask& task, Role role, std::int64_t rank) {
  Config config;
  config.role = role;
  config.rank = rank;
  config.workers = task.workers;
  config.servers = 1;
  config.scheduler = task.scheduler;
  config.rendezvous_timeout = 120s;
  return config;
}

/// Thread: loop.
class Resident : private Van::Handler {
 public:
  Resident(const CrowdTask& task, Role role, std::int64_t rank,
           std::unique_ptr<Transport> transport)
      : task_(task),
        config_(config_of(task, role, rank)),
        van_(std::move(transport), clock_),
        membership_(config_, {.address = role == Role::kServer ? "127.0.0.1:1" : ""}, van_,
                    clock_) {
    membership_.start();
  }

  void step() {
    van_.step(*this, Duration::zero());
    membership_.tick();
    if (config_.role == Role::kWorker && phase_ < Phase::kOver) live();
  }
  bool over() const {
    return membership_.over() && (config_.role == Role::kServer || phase_ == Phase::kOver);
  }
  void may_leave() { may_leave_ = true; }

 private:
  enum class Phase : std::uint8_t {
    kJoining,
    kDeclaring,
    kFirstBarrier,
    kTraining,
    kLastBarrier,
    kTrained,
    kLeaving,
    kOver
  };

  void live() {
    if (membership_.over() && phase_ != Phase::kLeaving) return fail();
    switch (phase_) {
      case Phase::kJoining:
        if (membership_.state() != Membership::State::kMember) return;
        tell(CrowdNews::Phase::kJoined);
        for (std::uint32_t tensor = 0; tensor < task_.tensors; ++tensor) declare(tensor);
        phase_ = Phase::kDeclaring;
        return;
      case Phase::kDeclaring:
        if (declared_ == task_.tensors) enter_barrier(Phase::kFirstBarrier);
        return;
      case Phase::kTraining:
        membership_.set_progress({.rounds = ++rounds_, .staleness = 0});
        if (clock_.now() - since_ > task_.training) enter_barrier(Phase::kLastBarrier);
        return;
      case Phase::kTrained:
        if (!may_leave_) return;
        membership_.leave();
        since_ = clock_.now();
        phase_ = Phase::kLeaving;
        return;
      case Phase::kLeaving:
        if (membership_.state() == Membership::State::kFailed) return fail();
        if (!membership_.over()) return;
        tell(CrowdNews::Phase::kLeft);
        phase_ = Phase::kOver;
        return;
      case Phase::kFirstBarrier:
      case Phase::kLastBarrier:
      case Phase::kOver:
        return;
    }
  }

  void fail() {
    std::fprintf(stderr, "%s\n", membership_.status().text().c_str());
    tell(CrowdNews::Phase::kFailed);
    phase_ = Phase::kOver;
  }

  void declare(std::uint32_t tensor) {
    TensorSpec spec;
    spec.name = fmt::format("layer.{}.weight", tensor);
    spec.elements = kElements;
    wire::Control message;
    *message.mutable_declare()->mutable_spec() = to_wire(spec);
    van_.send_control(membership_.scheduler_link(), message);
  }

  void enter_barrier(Phase phase) {
    phase_ = phase;
    wire::Control message;
    message.mutable_barrier()->set_number(phase == Phase::kFirstBarrier ? 1 : 2);
    van_.send_control(membership_.scheduler_link(), message);
  }

  void tell(CrowdNews::Phase phase) {
    const CrowdNews news{.phase = phase,
                         .bytes = bytes_,
                         .seconds = std::chrono::duration<double>(clock_.now() - since_).count()};
    if (::write(task_.news, &news, sizeof news) != sizeof news) phase_ = Phase::kOver;
  }

  void on_control(LinkId link, const wire::Control& message) override {
    bytes_ += wire::kHeaderBytes + message.ByteSizeLong();
    if (membership_.on_control(link, message)) return;
    if (message.has_declared()) ++declared_;
    if (!message.has_barrier()) return;
    if (phase_ == Phase::kFirstBarrier) {
      since_ = clock_.now();
      phase_ = Phase::kTraining;
    } else if (phase_ == Phase::kLastBarrier) {
      tell(CrowdNews::Phase::kTrained);
      phase_ = Phase::kTrained;
    }
  }
  void on_data(LinkId, const wire::Header&, Buffer) override {}
  void on_acked(LinkId, wire::Key) override {}
  void on_broken(LinkId link, const Status& why) override { membership_.on_broken(link, why); }

  const CrowdTask& task_;
  SteadyClock clock_;
  const Config config_;
  Van van_;
  Membership membership_;
  Phase phase_ = Phase::kJoining;
  bool may_leave_ = false;
  std::uint32_t declared_ = 0;
  std::uint64_t rounds_ = 0;
  std::uint64_t bytes_ = 0;
  Time since_;  // Of training; of asking to leave.
};

}  // namespace

int run_crowd(const CrowdTask& task) {
  std::vector<std::unique_ptr<Resident>> all;
  const auto add = [&](Role role, std::int64_t rank) {
    Result<std::unique_ptr<Transport>> transport = make_transport(0);
    if (!transport.ok()) {
      std::fprintf(stderr, "%s\n", transport.status().text().c_str());
      return false;
    }
    all.push_back(std::make_unique<Resident>(task, role, rank, *std::move(transport)));
    return true;
  };
  if (task.with_server && !add(Role::kServer, 0)) return 1;
  for (std::uint32_t i = 0; i < task.count; ++i) {
    if (!add(Role::kWorker, task.first_rank + i)) return 1;
  }
  const auto is_over = [](const auto& one) { return one->over(); };
  bool held = true;
  while (!std::all_of(all.begin(), all.end(), is_over)) {
    for (const auto& one : all) one->step();
    pollfd until{task.until, POLLIN, 0};
    const int timeout = static_cast<int>(kBreak / 1ms);
    if (!held) {
      ::poll(nullptr, 0, timeout);
    } else if (::poll(&until, 1, timeout) > 0) {
      held = false;
      for (const auto& one : all) one->may_leave();
    }
  }
  ::pause();  // The links stay until the scheduler has been looked at; then this process is ended.
  return 0;
}

}  // namespace stretto::bench

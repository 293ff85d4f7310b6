// SPDX-License-Identifier: Apache-2.0
// SimObserver: an observer of a simulated job, like stretto-top: it connects, sends a few requests,
// and leaves, in order or not. The job must not notice it.
#pragma once

#include <memory>
#include <string>

#include "tests/sim/plan.h"
#include "van/engine/van.h"
#include "van/event_loop/loop.h"

namespace stretto::sim {

/// Thread: the simulation's.
class SimObserver final : public LoopTask, private Van::Handler {
 public:
  SimObserver(const Visit& visit, std::string scheduler, std::unique_ptr<Transport> transport,
              const Clock& clock);

  void step(Duration wait) override;
  Time next_due() const override;
  bool over() const override { return state_ == State::kGone; }

  /// A fault that a welcomed observer sees while the scheduler lives: the link's end, or a response
  /// that does not match its request. Ok: none.
  const Status& complaint() const { return complaint_; }
  std::uint32_t answers() const { return answers_; }

 private:
  enum class State { kComing, kGreeting, kResting, kAsking, kGone };

  void ask();
  void hear(const control::Message& message);
  void on_control(LinkId, const control::Message& message) override { hear(message); }
  void on_data(LinkId, const wire::Header&, Buffer) override {}
  void on_acked(LinkId, wire::PushTag) override {}
  void on_broken(LinkId, const Status& why) override;

  const Visit visit_;
  const std::string scheduler_;
  const Clock& clock_;
  Van van_;
  State state_ = State::kComing;
  Time next_;  // When it connects, asks or leaves, unless it waits for the scheduler.
  LinkId link_ = 0;
  control::Observe question_;
  std::uint32_t answers_ = 0;
  Status complaint_;
};

}  // namespace stretto::sim

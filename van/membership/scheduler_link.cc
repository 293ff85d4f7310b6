// SPDX-License-Identifier: Apache-2.0
// Connects to the scheduler, and checks the identity of what answers.
#include "van/membership/scheduler_link.h"

#include <utility>

#include "common/log.h"

namespace stretto {
namespace {

constexpr Duration kRetry = 100ms;

ParentProcess starter_of(const Config& config) {
  const Result<ParentProcess> starter = ParentProcess::named(config.starter);
  return starter.ok() ? *starter : ParentProcess();
}

}  // namespace

SchedulerLink::SchedulerLink(const Config& config, Van& van, const Clock& clock)
    : config_(config), van_(van), clock_(clock), starter_(starter_of(config)) {}

Status SchedulerLink::call(const control::Hello& hello) {
  retry_at_ = clock_.now() + kRetry;
  const Result<LinkId> link = van_.links().connect(config_.scheduler, hello);
  if (link.ok()) id_ = *link;
  return link.status();
}

void SchedulerLink::close() {
  if (id_ != 0) van_.links().close(std::exchange(id_, 0));
}

void SchedulerLink::ended(const Status& why) {
  id_ = 0;
  attempts_.failed(why, clock_.now());
  if (search_.lasts()) search_.failed(why, clock_.now());
}

void SchedulerLink::await(Status why, Duration patience, const control::Hello& hello) {
  close();
  hello_ = hello;
  hello_.job = job_;
  hello_.life = life_;
  search_.begin(std::move(why), patience, hello.node, clock_.now());
}

std::optional<Status> SchedulerLink::search(bool slept) {
  const Time now = clock_.now();
  if (slept) search_.slept(now);
  if (search_.is_over(now)) {
    Status lost = search_.verdict();
    search_.end();
    return lost;
  }
  if (search_.meets_a_stranger(now)) {
    Status lost = search_.replaced();
    search_.end();
    return lost;
  }
  if (search_.is_missed(now)) log(Level::kWarning, "{}", search_.news(now));
  if (id_ != 0 && search_.is_unanswered(now)) {
    close();
    search_.failed({Code::kTimeout, "it does not answer"}, now);
  }
  if (id_ != 0 || !search_.calls(now)) return std::nullopt;
  if (starter_.has_ended()) {
    Status lost = search_.alone(starter_.process());
    search_.end();
    return lost;
  }
  search_.called(now);
  if (const Status called = call(hello_); !called.ok()) search_.failed(called, now);
  return std::nullopt;
}

// A previous incarnation is rejected, and so is the scheduler of another job.
bool SchedulerLink::welcome(const control::Welcome& welcome) {
  const bool is_it = !search_.lasts() ||
                     (welcome.job == job_ && welcome.node == hello_.node && welcome.life >= life_);
  if (!is_it) {
    close();
    search_.failed({Code::kRefused, "another answered, or one that has been replaced"},
                   clock_.now());
    return false;
  }
  attempts_.succeeded();
  job_ = welcome.job;
  life_ = welcome.life;
  search_.end();
  van_.links().admit(id_, kSchedulerNode);
  return true;
}

}  // namespace stretto

// SPDX-License-Identifier: Apache-2.0
// Passes each heartbeat to all components that use it.
#include "scheduler/monitoring/job_monitor.h"

#include <algorithm>
#include <utility>

#include "common/log.h"

namespace stretto {
namespace {

constexpr Duration kLeastWindow = 1s;  // For judging input.

}  // namespace

JobMonitor::JobMonitor(const Config& config)
    : replicated_(config.job.replicated()),
      standstill_(config.job.heartbeat),
      input_(std::max(kLeastWindow, 2 * config.job.heartbeat), config.balance_input) {}

void JobMonitor::heard(const Member& member, const control::Heartbeat& beat, Time now) {
  snapshot_.heard(member.node, beat, now);
  standstill_.heard(member, beat, now);
  stacks_.heard(member.node, beat.stack, now);
  if (member.role != Role::kWorker || member.left) return;
  const auto node = snapshot_.nodes().find(member.node);
  const std::uint64_t missed =
      node == snapshot_.nodes().end() ? 0 : node->second.missed.value_or(0);
  overview_.heard(member.number(), beat.rounds, beat.staleness, now, missed);
  whereabouts_.heard(member.number(), beat.waits_in);
  if (beat.input) input_.heard(member.number(), *beat.input);
}

control::Heartbeat JobMonitor::answer(const Member& member, const control::Heartbeat& beat) const {
  control::Heartbeat answer{.number = beat.number, .wants_stack = stacks_.wanted(member.node)};
  if (std::string pause = standstill_.pause_of_others(member.node); !pause.empty()) {
    answer.activity = control::Activity{.pause = std::move(pause)};
  }
  if (member.role == Role::kWorker) {
    answer.input_limit_bytes = input_.limit_of(member.number());
    const std::optional<StallDiagnosis>& standstill = standstill_.verdict();
    answer.elsewhere = standstill ? standstill->text : whereabouts_.elsewhere(member.number());
  }
  return answer;
}

void JobMonitor::left(const Member& member) {
  forget(member, false);
  if (member.role == Role::kWorker) left_workers_.push_back(member.number());
}

void JobMonitor::forget(const Member& member, bool lost) {
  snapshot_.left(member.node, lost);
  trace_.gone(member.node);
  standstill_.left(member.node);
  stacks_.left(member.node);
  if (member.role != Role::kWorker) return;
  overview_.left(member.number());
  whereabouts_.left(member.number());
  input_.left(member.number());
}

void JobMonitor::lost(const Member& member) {
  forget(member, true);
  if (member.shard != 0) return;  // Reports its process once.
  loss_news_.push_back({.number = member.number(),
                        .server = member.role == Role::kServer,
                        .dropped = member.standby && !replicated_});
}

void JobMonitor::moved(const Member& member) {
  forget(member, false);
  if (member.shard != 0) return;
  loss_news_.push_back({.number = member.number(), .server = true, .dropped = true});
}

void JobMonitor::look(Time now) {
  if (const std::string slow = overview_.laggards(now); !slow.empty()) {
    log(Level::kWarning, "a worker falls behind: {}", slow);
  }
  if (const auto word = standstill_.look(now)) {
    log(word->alarming ? Level::kWarning : Level::kInfo, "{}", word->text);
  }
  snapshot_.set_standstill(standstill_.verdict());
  if (!input_.due(now)) return;
  for (const InputMonitor::Word& word : input_.judge(now)) {
    log(word.alarming ? Level::kWarning : Level::kInfo, "{}", word.text);
  }
  snapshot_.set_input(input_.workers());
}

bool JobMonitor::comes_again(const Member& member) {
  if (member.role != Role::kWorker) return false;  // A server that joins is another one.
  const bool was_lost = std::ranges::any_of(loss_news_, [&](const LossReport& news) {
    return !news.server && news.number == member.number();
  });
  if (was_lost) loss_news_.push_back({.number = member.number(), .is_back = true});
  return was_lost;
}

}  // namespace stretto

// SPDX-License-Identifier: Apache-2.0
// Log lines of a forming job.
#include "scheduler/sessions/missing_members.h"

#include <fmt/core.h>

#include <algorithm>

#include "common/clock.h"
#include "common/log.h"

namespace stretto {

std::vector<MemberExit> MissingMembers::note_ends(std::vector<MemberExit> ends) {
  for (const MemberExit& end : ends) ended_.emplace(end.role, end.rank);
  return ends;
}

void MissingMembers::await_again(const std::vector<MemberExit>& ends, const ViewMachine& machine,
                                 JobMonitor& watch,
                                 const std::function<void(const Disconnected&)>& happened) {
  const bool may_come = config_.job.elastic() && config_.restarts > 0;
  if (!may_come || machine.phase() != ViewMachine::Phase::kGathering) return;
  for (const MemberExit& end : ends) {
    if (end.role != Role::kWorker) continue;
    ended_.erase({end.role, end.rank});
    watch.missed(end.rank);
    const auto& members = machine.next_view().members;
    const auto found = std::ranges::find_if(members, [&end](const auto& entry) {
      return entry.second.role == Role::kWorker && entry.second.rank == end.rank;
    });
    if (found != members.end()) happened({.node = found->first, .cause = "its process has ended"});
  }
}

Tick MissingMembers::look(const ViewMachine& machine, const ExitNotices* launcher, Time now) {
  if (machine.phase() != ViewMachine::Phase::kGathering) return {};
  if (const auto line = take_line(machine.admission(), launcher, now)) {
    log(Level::kInfo, "{}", *line);
  }
  return {.attended = launcher != nullptr && launcher->joins_unlimited()};
}

std::string MissingMembers::state_of(const Member& member, bool runs) const {
  const std::string name = member.describe();
  if (ended_.contains({member.role, member.rank})) {
    return fmt::format("{} has ended and had not joined", name);
  }
  return fmt::format("{} {}has not joined yet", name, runs ? "runs, " : "");
}

std::optional<std::string> MissingMembers::take_line(const Admission& admission,
                                                     const ExitNotices* launcher, Time now) {
  const std::optional<Duration> waited = notes_.take(now);
  if (!waited) return std::nullopt;
  const bool runs = launcher != nullptr && launcher->told();
  const std::string states =
      admission.missing([&](const Member& member) { return state_of(member, runs); }, "; ");
  const bool is_limited = launcher == nullptr || !launcher->joins_unlimited();
  const std::string limit =
      is_limited ? fmt::format("; the job ends after {} s (STRETTO_RENDEZVOUS_TIMEOUT_S)",
                               seconds(config_.rendezvous_timeout))
                 : "";
  return fmt::format("the job has waited {:.0f} s for its members: {}{}", seconds(*waited), states,
                     limit);
}

}  // namespace stretto

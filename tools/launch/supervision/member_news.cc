// SPDX-License-Identifier: Apache-2.0
// Applies reports about single members to the supervisor's evidence.
#include "tools/launch/supervision/member_news.h"

#include <fmt/core.h>

#include <algorithm>

#include "common/launch_protocol/status_lines.h"
#include "tools/launch/supervision/spare_workers.h"

namespace stretto::launch {

Reaction begin_move(Supervisor& supervisor, const Restart& wanted) {
  JobEvidence& evidence = supervisor.evidence_;
  Reaction reaction;
  evidence.record_reuse(wanted.member);
  evidence.members[wanted.member].comes_for = wanted.instead_of;
  reaction.restarts.push_back(wanted);
  reaction.notes.push_back(fmt::format("{} is started, to have the place of {}",
                                       label_of(evidence.members[wanted.member].member),
                                       label_of(evidence.members[wanted.instead_of].member)));
  return reaction;
}

void note_joined(Supervisor& supervisor, std::optional<Rank> worker) {
  for (MemberRecord& witness : supervisor.evidence_.members) {
    if (worker && witness.member == JobMember{Role::kWorker, *worker}) witness.joined = true;
  }
}

void note_asked(Supervisor& supervisor, std::size_t member) {
  supervisor.evidence_.members[member].asked = true;
}

Reaction note_left(Supervisor& supervisor, std::optional<Rank> worker, Time now) {
  for (MemberRecord& witness : supervisor.evidence_.members) {
    if (worker && witness.member == JobMember{Role::kWorker, *worker}) witness.left = true;
  }
  return worker ? supervisor.on_time(now) : Reaction();
}

Reaction note_missed(Supervisor& supervisor, std::optional<Rank> worker, Time now) {
  std::vector<MemberRecord>& members = supervisor.evidence_.members;
  Reaction reaction;
  for (std::size_t member = 0; worker && member < members.size(); ++member) {
    const bool awaits = members[member].word_due && supervisor.may_start();
    if (members[member].member != JobMember{Role::kWorker, *worker} || !awaits) continue;
    std::string note = run_again_before_all_joined(supervisor.evidence_, member);
    if (note.empty()) return supervisor.on_time(now);
    reaction.restarts.push_back({.member = member, .instead_of = member});
    reaction.notes.push_back(std::move(note));
  }
  return reaction;
}

Reaction note_worker_news(std::string_view line, Supervisor& supervisor, Time now) {
  note_joined(supervisor, joined_in(line));
  if (const auto missed = missed_in(line)) return note_missed(supervisor, missed, now);
  return note_left(supervisor, left_in(line), now);
}

bool runs(const Supervisor& supervisor) {
  const bool gathered = supervisor.losses_.gathered() && supervisor.evidence_.has_scheduler();
  return supervisor.may_start() && gathered;
}

Reaction replace_left(const Supervisor& supervisor, std::size_t member) {
  Reaction reaction;
  const JobEvidence& evidence = supervisor.evidence();
  const auto spare = spare_worker(evidence);
  if (!spare || !runs(supervisor)) return reaction;
  reaction.restarts.push_back({.member = *spare, .instead_of = member});
  reaction.notes.push_back(fmt::format("{} has left; {} is started for it",
                                       label_of(evidence.members[member].member),
                                       label_of(evidence.members[*spare].member)));
  return reaction;
}

std::vector<std::size_t> ended_with_host(const std::vector<std::size_t>& members, const Status& why,
                                         const Supervisor& supervisor) {
  const JobEvidence& evidence = supervisor.evidence();
  const bool is_silent = why.code() == Code::kTimeout && supervisor.losses_.gathered();
  std::vector<std::size_t> ended = members;
  std::erase_if(ended, [&](std::size_t member) {
    const bool goes_on = supervisor.going_on_.may_go_unwatched(evidence, member);
    return is_silent && goes_on && evidence.is_alive(member);
  });
  return ended;
}

Reaction watch_again(Supervisor& supervisor, const std::vector<std::size_t>& members,
                     const std::string& name) {
  Reaction reaction;
  std::string names;
  for (const std::size_t member : members) {
    MemberRecord& witness = supervisor.evidence_.members[member];
    if (!witness.unwatched || witness.forgiven || !supervisor.may_start()) continue;
    witness.unwatched = false;
    witness.lost = {};
    witness.life = MemberRecord::Life::kAlive;
    names += (names.empty() ? "" : ", ") + label_of(witness.member);
  }
  const std::string end = names.empty() ? "" : fmt::format("; it runs {}", names);
  reaction.notes.push_back(fmt::format("the agent on {} is heard again{}", name, end));
  return reaction;
}

Duration silence_limit(const JobEvidence& evidence, const Limits& limits) {
  const bool all_run = std::ranges::none_of(evidence.members, [](const MemberRecord& witness) {
    // The job continues without a forgiven member, and with a member on a silent host.
    const bool missing = !witness.forgiven && !witness.unwatched;
    const bool ended = witness.life == MemberRecord::Life::kEnded && missing;
    const bool runs = witness.life == MemberRecord::Life::kAlive;
    // A member that the scheduler misses may have failed with its host.
    const bool missed = runs && (witness.awaited || witness.told || witness.forgiven);
    return ended || missed;
  });
  return all_run ? limits.silence : limits.late_silence;
}

}  // namespace stretto::launch

// SPDX-License-Identifier: Apache-2.0
// Stop signals, in the order in which members may end.
#include "tools/launch/supervision/stop_orders.h"

#include <fmt/core.h>
#include <signal.h>

#include <algorithm>
#include <chrono>

#include "common/clock.h"

namespace stretto::launch {
namespace {

using Tenths = std::chrono::duration<std::int64_t, std::deci>;  // Of a second.

// A replacement that has not joined may end by the signal, as it has no state to hand over. Members
// that have joined, or have succeeded, decide how the job ends.
void forgive_latecomers(JobEvidence& evidence) {
  const auto is_late = [&](std::size_t member) {
    const MemberRecord& witness = evidence.members[member];
    return witness.spare && !witness.joined && evidence.is_alive(member);
  };
  bool others = false;
  for (std::size_t member = 0; member < evidence.members.size(); ++member) {
    const MemberRecord& witness = evidence.members[member];
    const bool works = (evidence.is_alive(member) || witness.unwatched) && !witness.forgiven;
    const bool counts = witness.succeeded() || (works && !is_late(member));
    others = others || (witness.member.role == Role::kWorker && counts);
  }
  for (std::size_t member = 0; others && member < evidence.members.size(); ++member) {
    MemberRecord& witness = evidence.members[member];
    if (witness.member.role == Role::kWorker && is_late(member)) witness.forgiven = true;
  }
}

}  // namespace

// Workers, which come last, are signalled first: otherwise they would fail because of ended servers
// instead of the notice. SIGINT goes to the whole group, as from a terminal. Other notices go to
// the process alone: helpers such as data loaders must work while it finishes its step. In the
// phase leaving only workers are signalled; servers and scheduler follow, and workers that still
// run have had their time.
void order_stop(JobEvidence& evidence, const Lifecycle& lifecycle, Lifecycle::Phase before,
                std::string_view reason, Reaction& reaction) {
  const int signal = lifecycle.stop_signal().value();
  const bool workers_first = lifecycle.phase() == Lifecycle::Phase::kLeaving;
  const bool had_time = before == Lifecycle::Phase::kLeaving;
  const auto is_worker = [](const JobMember& member) { return member.role == Role::kWorker; };
  const auto was_asked = [&](const JobMember& member) {
    return workers_first && std::ranges::any_of(evidence.members, [&](const MemberRecord& witness) {
             return witness.asked && witness.member == member;
           });
  };
  const auto is_told = [&](const JobMember& member) {
    return is_worker(member) ? !had_time && !was_asked(member) : !workers_first;
  };
  if (workers_first) forgive_latecomers(evidence);
  if (const std::string late = evidence.alive_names(is_worker); had_time && !late.empty())
    reaction.notes.push_back(fmt::format("sent SIGKILL to {}", late));
  for (std::size_t i = evidence.members.size(); i-- > 0;) {
    MemberRecord& witness = evidence.members[i];
    if (witness.life == MemberRecord::Life::kUnborn) continue;
    const bool kills = had_time && is_worker(witness.member) && evidence.is_alive(i);
    const bool alone = evidence.is_alive(i) && signal != SIGINT && !kills;
    if (workers_first && !is_worker(witness.member)) continue;
    if (!was_asked(witness.member)) {  // A second SIGTERM would kill it amid its step.
      reaction.orders.push_back(
          {i, kills ? SIGKILL : signal,
           alone ? SignalOrder::Scope::kProcess : SignalOrder::Scope::kGroup});
    }
    // A scheduler that is silent, or sends malformed lines, has failed before.
    if (evidence.is_alive(i) && witness.lost.ok()) witness.told = true;
  }
  if (const std::string told = evidence.alive_names(is_told); !told.empty()) {
    reaction.notes.push_back(fmt::format("sent {} to {}{}; SIGKILL follows after {} s",
                                         signal_name(signal), told, reason,
                                         seconds(std::chrono::ceil<Tenths>(lifecycle.grace()))));
  }
}

std::string reason_to_stop(const Lifecycle& lifecycle, Lifecycle::Phase before, bool gathered) {
  const bool patient =
      before == Lifecycle::Phase::kSettling || before == Lifecycle::Phase::kDraining;
  if (!patient || lifecycle.interrupted()) return {};
  if (before == Lifecycle::Phase::kDraining && !gathered) {
    return ", as all workers have ended and no job began";
  }
  return fmt::format(", still running {} s after the {}", seconds(lifecycle.patience(before)),
                     before == Lifecycle::Phase::kSettling ? "first failure" : "last worker");
}

void excuse_followers(JobEvidence& evidence, Time now) {
  const bool cause = std::ranges::any_of(evidence.members, [now](const MemberRecord& witness) {
    const bool ended_badly = witness.exit && witness.exit->failed() && witness.at == now;
    return witness.member.role == Role::kWorker && witness.told && ended_badly && !witness.forgiven;
  });
  for (MemberRecord& witness : evidence.members) {
    if (!cause || witness.told || witness.member.role == Role::kWorker) continue;
    const bool by_status = witness.exit && !witness.exit->by_signal && witness.at == now;
    if (!by_status && witness.life != MemberRecord::Life::kAlive) continue;
    if (witness.lost.ok()) witness.told = true;
    if (by_status) witness.said.reset();
  }
}

// A scheduler that exited with a status has told all members why the job fails. A replacement that
// has not joined would keep looking for it until the job stops.
void stop_latecomers(JobEvidence& evidence, Reaction& reaction) {
  const MemberRecord& scheduler = evidence.members.front();
  const bool has_told = scheduler.exit && !scheduler.exit->by_signal && !evidence.is_alive(0);
  for (std::size_t member = 1; has_told && member < evidence.members.size(); ++member) {
    MemberRecord& witness = evidence.members[member];
    const bool is_server = witness.member.role == Role::kServer;
    const bool is_late = is_server ? witness.returned > 0 : witness.spare && !witness.joined;
    if (!is_late || witness.told || !evidence.is_alive(member)) continue;
    witness.told = true;
    reaction.orders.push_back({member, SIGTERM, SignalOrder::Scope::kProcess});
    reaction.notes.push_back(
        fmt::format("sent SIGTERM to {}, whose scheduler has ended", label_of(witness.member)));
  }
}

}  // namespace stretto::launch

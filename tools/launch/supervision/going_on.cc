// SPDX-License-Identifier: Apache-2.0
// Waits for the scheduler's decisions, and applies them.
#include "tools/launch/supervision/going_on.h"

#include <fmt/core.h>

#include <algorithm>

#include "common/clock.h"
#include "tools/launch/supervision/spare_workers.h"

namespace stretto::launch {
namespace {

constexpr std::size_t kScheduler = 0;

// The job has succeeded: a replacement that has not joined came too late, and is not needed.
bool is_done(const JobEvidence& evidence) { return evidence.members[kScheduler].succeeded(); }

bool scheduler_is_replaced(const JobEvidence& evidence) {
  return !evidence.is_alive(kScheduler) || evidence.members[kScheduler].awaited;
}

// No member of this launch is left that could report a stalled scheduler.
bool only_guests(const JobEvidence& evidence) {
  return evidence.guests_go_on() && evidence.workers_succeeded() && evidence.is_alive(kScheduler) &&
         evidence.members[kScheduler].lost.ok();
}

bool has_servers_replaced(GoingOn::Sizing sizing) {
  return sizing == GoingOn::Sizing::kServersReturn || GoingOn::servers_stand_by(sizing);
}

// Without `member`, at least `least` workers have succeeded, or still may.
bool are_enough_without(const JobEvidence& evidence, std::size_t member, std::uint32_t least) {
  std::uint32_t enough = evidence.guests;
  for (std::size_t other = 0; other < evidence.members.size(); ++other) {
    const MemberRecord& witness = evidence.members[other];
    const bool too_late = witness.spare && !witness.joined && is_done(evidence);
    const bool works =
        (evidence.is_alive(other) || witness.unwatched) && !witness.forgiven && !too_late;
    const bool counts = witness.succeeded() || works || (witness.unwatched && witness.left);
    enough += other != member && witness.member.role == Role::kWorker && counts;
  }
  return enough >= least;
}

bool is_lost_replacement(const MemberRecord& witness, GoingOn::Sizing sizing) {
  return sizing == GoingOn::Sizing::kServersReturn && witness.member.role == Role::kServer &&
         witness.returned > 0;
}

}  // namespace

bool GoingOn::has_left(const JobEvidence& evidence, const MemberRecord& witness) const {
  const bool may_leave = witness.member.role == Role::kWorker && is_elastic(sizing_);
  return may_leave && (witness.left || is_done(evidence));
}

bool GoingOn::scheduler_returns(const JobEvidence& evidence) const {
  std::uint32_t used = 0;
  for (const MemberRecord& witness : evidence.members) {
    if (witness.member.role != Role::kWorker) used += witness.returned + witness.awaited;
  }
  return used < returns_;
}

void GoingOn::await_word(JobEvidence& evidence, std::size_t member, Time now) const {
  MemberRecord& witness = evidence.members[member];
  if (member == kScheduler) {  // An exit with a status has a reason.
    const bool crashed = witness.exit && witness.exit->by_signal && !witness.told;
    if (crashed && scheduler_returns(evidence)) witness.awaited = true;
    return;
  }
  const bool failed = !witness.lost.ok() || (witness.exit && witness.exit->failed());
  const bool its_kind = witness.member.role == Role::kWorker
                            ? is_elastic(sizing_)
                            : has_servers_replaced(sizing_) || witness.comes_for;
  const bool may_go_on = its_kind && !witness.told && !witness.forgiven && !witness.awaited &&
                         (evidence.has_scheduler() || has_left(evidence, witness) ||
                          ((witness.spare || witness.again) && is_done(evidence)));
  if (failed && may_go_on) witness.word_due = now + word_;
}

bool GoingOn::may_go_unwatched(const JobEvidence& evidence, std::size_t member) const {
  const MemberRecord& witness = evidence.members[member];
  const bool is_in = !witness.told && !witness.forgiven && (!witness.spare || witness.joined);
  return elastic() && witness.member.role == Role::kWorker && is_in && evidence.has_scheduler();
}

void GoingOn::await_another(JobEvidence& evidence, std::size_t member, Time now) const {
  MemberRecord& witness = evidence.members[member];
  const bool failed = witness.exit && witness.exit->failed() && !witness.told;
  const bool its_kind = witness.member.role == Role::kWorker && elastic();
  if (failed && its_kind && evidence.is_alive(kScheduler) && spare_worker(evidence)) {
    witness.word_due = now + word_;
  }
}

std::string GoingOn::take_word(JobEvidence& evidence, std::size_t member, Time now) {
  MemberRecord& witness = evidence.members.at(member);
  if (std::exchange(witness.forgiven, true)) return {};
  witness.word_due.reset();
  if (evidence.is_alive(member)) ends_by_[member] = now + again_;
  return fmt::format("{} {}; the job goes on without it", label_of(witness.member),
                     witness.exit ? witness.exit->text() : "is lost");
}

std::string GoingOn::take_end_of_leaver(JobEvidence& evidence, std::size_t member) {
  MemberRecord& witness = evidence.members.at(member);
  if (!witness.left || std::exchange(witness.forgiven, true)) return {};
  witness.word_due.reset();
  if (witness.unwatched) return fmt::format("{} has left in order", label_of(witness.member));
  return fmt::format("warning: {} {} after it had left in order; the job goes on",
                     label_of(witness.member), witness.exit ? witness.exit->text() : "is lost");
}

std::string GoingOn::drop(JobEvidence& evidence, std::size_t member, Time now) {
  MemberRecord& witness = evidence.members.at(member);
  for (std::size_t heir = 0; heir < evidence.members.size(); ++heir) {
    MemberRecord& other = evidence.members[heir];
    if (other.comes_for != member) continue;
    other.comes_for.reset();  // It was promoted, even if it was given up before.
    if (!evidence.is_alive(heir)) continue;
    other.forgiven = false;
    ends_by_.erase(heir);
  }
  if (std::exchange(witness.forgiven, true)) return {};
  witness.word_due.reset();
  const std::string who = label_of(witness.member);
  if (!evidence.is_alive(member) && witness.exit) {
    return fmt::format("{} {}; the job goes on without it", who, witness.exit->text());
  }
  ends_by_[member] = now + settle_;
  return fmt::format("the job goes on without {}", who);
}

bool GoingOn::await_return(JobEvidence& evidence, std::size_t member) {
  MemberRecord& witness = evidence.members.at(member);
  witness.word_due.reset();
  // A server lost with its host: a standby may run on another host.
  if (!witness.lost.ok() && !servers_stand_by(sizing_)) return false;
  const bool news = !std::exchange(witness.awaited, true);
  if (news && servers_stand_by(sizing_)) --restarts_;
  const bool ends_it = news && evidence.is_alive(member);
  if (ends_it) witness.told = true;
  return ends_it;
}

bool GoingOn::returns(const JobEvidence& evidence, std::size_t member) const {
  if (!servers_stand_by(sizing_)) return true;
  const MemberRecord& witness = evidence.members.at(member);
  const bool is_left = restarts_ > 0 && (returns_ == 0 || scheduler_returns(evidence));
  return witness.awaited || is_left;
}

std::vector<std::pair<std::size_t, std::string>> GoingOn::take_returns(JobEvidence& evidence,
                                                                       bool all) {
  std::vector<std::pair<std::size_t, std::string>> returns;
  const std::size_t end = all ? evidence.members.size() : kScheduler + 1;
  for (std::size_t member = 0; member < end; ++member) {
    const MemberRecord& witness = evidence.members[member];
    if (!witness.awaited || evidence.is_alive(member)) continue;
    const std::string how = !witness.lost.ok() ? fmt::format("is lost: {}", witness.lost.cause())
                            : witness.told     ? "was lost to the job and killed"
                            : witness.exit     ? witness.exit->text()
                                               : "is lost";
    std::string note =
        fmt::format("{} {}; another is started in its place", label_of(witness.member), how);
    if (witness.lost_guest) {
      note = fmt::format("server {}, which had joined, is lost; {} is started in its place",
                         *witness.lost_guest, label_of(witness.member));
    }
    returns.emplace_back(member, std::move(note));
    evidence.record_return(member);
  }
  return returns;
}

void GoingOn::replace(JobEvidence& evidence, std::size_t member, std::size_t replacement,
                      Time now) {
  evidence.members.at(replacement).replaces = member;
  if (const auto runs = ends_by_.find(member); runs != ends_by_.end()) runs->second = now + settle_;
}

std::string GoingOn::take_back(JobEvidence& evidence, std::size_t member) {
  MemberRecord& witness = evidence.members.at(member);
  const bool ends = witness.told || !(evidence.is_alive(member) || witness.unwatched);
  if (!witness.forgiven || ends) return {};  // The next notification concerns its end.
  witness.forgiven = false;
  witness.again = true;
  witness.unreplaced = false;
  ends_by_.erase(member);
  return fmt::format("{} is in the job again", label_of(witness.member));
}

void GoingOn::take_guests(JobEvidence& evidence, std::uint32_t guests, Time now) {
  evidence.guests = guests;
  evidence.most_guests = std::max(evidence.most_guests, guests);
  guests_until_ = now + word_;
}

std::vector<std::size_t> GoingOn::look(JobEvidence& evidence, Time now) {
  // A stalled scheduler is detected by its missing lines, and another is started.
  const bool returns = scheduler_is_replaced(evidence) || scheduler_returns(evidence);
  if (returns) guests_until_ = std::max(guests_until_, now + word_);
  if (only_guests(evidence) && now >= guests_until_) {
    evidence.record_loss(
        kScheduler, 1,
        Status(Code::kTimeout, fmt::format("did not say for {} s that the workers that have "
                                           "joined the job are in",
                                           seconds(word_)))
            .with_operation("run"),
        now);
  }
  std::vector<std::size_t> forgiven;
  for (std::size_t member = 0; member < evidence.members.size(); ++member) {
    MemberRecord& witness = evidence.members[member];
    const bool none_comes = !evidence.has_scheduler();
    if (witness.word_due && !none_comes && scheduler_is_replaced(evidence)) {
      witness.word_due = now + word_;  // Counts from when a scheduler can report.
    }
    const bool left = has_left(evidence, witness);
    if (witness.unwatched && !witness.forgiven && left) {
      forgiven.push_back(member);
      continue;
    }
    if (!witness.word_due || (now < *witness.word_due && !none_comes && !left)) continue;
    witness.word_due.reset();
    // The scheduler did not know a replacement that ended before it joined.
    const bool is_left = returns_ == 0 || scheduler_returns(evidence);
    if (is_lost_replacement(witness, sizing_) && !none_comes && is_left) {
      forgiven.push_back(member);
      continue;
    }
    const bool done_without = ((witness.spare || witness.again) && is_done(evidence)) ||
                              (left && are_enough_without(evidence, member, least_workers_));
    const bool server = witness.member.role == Role::kServer;
    const bool spare =
        server ? servers_stand_by(sizing_) || witness.comes_for.has_value() : witness.spare;
    if (done_without || (spare && !left && !none_comes)) forgiven.push_back(member);
  }
  return forgiven;
}

void blame_leaver(JobEvidence& evidence, std::uint32_t least) {
  const bool over = evidence.workers_ended() && !evidence.guests_go_on();
  if (!over || !evidence.workers_succeeded()) return;
  std::uint32_t enough = evidence.most_guests;
  for (const MemberRecord& witness : evidence.members) {
    const bool counts = witness.succeeded() || (witness.unwatched && witness.left);
    enough += witness.member.role == Role::kWorker && counts;
  }
  if (enough >= least) return;
  MemberRecord* first = nullptr;
  for (MemberRecord& witness : evidence.members) {
    const bool failed = witness.forgiven && witness.left && !witness.unwatched;
    if (failed && (first == nullptr || witness.at < first->at)) first = &witness;
  }
  if (first != nullptr) first->forgiven = false;
}

std::optional<Time> GoingOn::replacement_due(const JobEvidence& evidence,
                                             std::size_t member) const {
  const MemberRecord& witness = evidence.members[member];
  const bool replaces = witness.spare && witness.member.role == Role::kWorker;
  const bool is_missing = replaces && !witness.joined && !witness.told && evidence.is_alive(member);
  if (!is_missing || !is_done(evidence)) return std::nullopt;
  return evidence.members[kScheduler].at + settle_;
}

std::vector<std::size_t> GoingOn::overdue(const JobEvidence& evidence, Time now) {
  std::vector<std::size_t> found;
  std::erase_if(ends_by_, [&](const auto& one) {
    const bool runs = evidence.is_alive(one.first);
    const bool due = now >= one.second || is_done(evidence);
    if (runs && due) found.push_back(one.first);
    return !runs || due;
  });
  for (std::size_t member = 0; member < evidence.members.size(); ++member) {
    const std::optional<Time> due = replacement_due(evidence, member);
    if (due && now >= *due) found.push_back(member);
  }
  // A replacement for a server comes too late, and may not have joined.
  for (std::size_t member = 0; is_done(evidence) && member < evidence.members.size(); ++member) {
    const MemberRecord& witness = evidence.members[member];
    if (witness.comes_for && !witness.told && evidence.is_alive(member)) found.push_back(member);
  }
  return found;
}

std::optional<Time> GoingOn::deadline(const JobEvidence& evidence) const {
  Time first = only_guests(evidence) ? guests_until_ : Time::max();
  for (const MemberRecord& witness : evidence.members) {
    if (witness.word_due) first = std::min(first, *witness.word_due);
  }
  for (const auto& [member, due] : ends_by_) {
    if (evidence.is_alive(member)) first = std::min(first, due);
  }
  for (std::size_t member = 0; member < evidence.members.size(); ++member) {
    first = std::min(first, replacement_due(evidence, member).value_or(first));
  }
  if (first == Time::max()) return std::nullopt;
  return first;
}

std::string GoingOn::farewell(const JobEvidence& evidence) {
  std::string names;
  std::size_t count = 0;
  for (const MemberRecord& witness : evidence.members) {
    const bool lost = witness.forgiven && !witness.left;
    if (!lost || witness.member.role != Role::kWorker) continue;
    ++count;
    names += fmt::format("{}{}{}", names.empty() ? "" : ", ", label_of(witness.member),
                         witness.exit ? fmt::format(" ({})", witness.exit->text()) : "");
  }
  if (count == 0) return {};
  return fmt::format("the job was done without {} that it had lost: {}",
                     count == 1 ? "a worker" : fmt::format("{} workers", count), names);
}

}  // namespace stretto::launch

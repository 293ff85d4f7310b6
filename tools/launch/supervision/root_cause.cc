// SPDX-License-Identifier: Apache-2.0
// Counts votes first, then compares the order of ends.
#include "tools/launch/supervision/root_cause.h"

#include <fmt/core.h>
#include <signal.h>

#include <algorithm>
#include <map>
#include <set>

#include "common/check.h"
#include "common/config/program.h"
#include "common/program_failed.h"
#include "tools/launch/supervision/statements.h"

namespace stretto::launch {
namespace {

constexpr int kSignalBase = 128;  // Shells report death by a signal with this base.
constexpr std::size_t kMostNames = 8;

// A witness's suspected cause: a member, or a connection between two live members.
struct Blame {
  std::optional<std::size_t> member;
  std::size_t speaker = 0;
};

Code code_of(Role role) {
  if (role == Role::kServer) return Code::kServerLost;
  return role == Role::kScheduler ? Code::kSchedulerLost : Code::kPeerLost;
}

bool names_a_loss(Code code) {
  return code == Code::kPeerLost || code == Code::kServerLost || code == Code::kSchedulerLost;
}

// "server 0 shard 1" is server 0.
bool is_named(const JobMember& member, std::string_view name) {
  if (member.role == Role::kScheduler) return name.starts_with("scheduler");
  const std::string label = label_of(member);
  return name == label || name.starts_with(label + " ");
}

// The members in a list of names such as "server 0, worker 1".
std::vector<std::size_t> named_in(const JobEvidence& evidence, std::string_view names) {
  std::vector<std::size_t> found;
  while (!names.empty()) {
    const std::size_t end = std::min(names.find(", "), names.size());
    for (std::size_t i = 0; i < evidence.members.size(); ++i) {
      if (is_named(evidence.members[i].member, names.substr(0, end))) found.push_back(i);
    }
    names.remove_prefix(std::min(end + 2, names.size()));
  }
  return found;
}

std::optional<Blame> accusation(const JobEvidence& evidence, std::size_t speaker) {
  const MemberRecord& witness = evidence.members[speaker];
  if (witness.forgiven) return {};  // It reports its own end.
  if (!witness.said || witness.succeeded() || !names_a_cause(witness.said->code)) return {};
  if (witness.said->code == Code::kLinkBroken) return Blame{{}, speaker};
  const std::vector<std::size_t> named = named_in(evidence, witness.said->peer);
  if (named.empty() || named.front() == speaker) return {};
  if (witness.said->code == Code::kTimeout && named.size() > 1) return {};
  // Of several missing members, an ended one is why the others did not get far.
  const auto ended = std::find_if(named.begin(), named.end(), [&](std::size_t i) {
    return evidence.members[i].exit.has_value() && !evidence.members[i].told;
  });
  return Blame{ended == named.end() ? named.front() : *ended, speaker};
}

// A member that ended because `member` did not join. The loss seen by `member` is a consequence.
std::optional<Blame> waiter_for(const JobEvidence& evidence, std::size_t member) {
  const std::optional<Blame> own = accusation(evidence, member);
  if (!own || !own->member || !names_a_loss(evidence.members[member].said->code)) return {};
  const std::optional<Blame> other = accusation(evidence, *own->member);
  const bool waited = other && other->member == member &&
                      evidence.members[other->speaker].said->code == Code::kTimeout;
  return waited ? other : std::nullopt;
}

// An accused member may only have followed: then its own accusation counts. The search stops at two
// members that accuse each other, such as both ends of a connection: there the first statement
// counts, or that of the member that waited for the other.
Blame traced(const JobEvidence& evidence, const Blame& first) {
  std::set<std::size_t> seen{first.speaker};
  Blame blame = first;
  while (blame.member) {
    if (auto waiter = waiter_for(evidence, *blame.member)) return *waiter;
    if (!seen.insert(*blame.member).second) return first;
    const std::optional<Blame> next = accusation(evidence, *blame.member);
    if (!next) return blame;
    blame = *next;
  }
  return blame;
}

// Members are in starting order, so a voting scheduler votes first.
std::optional<Blame> elected(const JobEvidence& evidence) {
  std::map<std::optional<std::size_t>, std::size_t> votes;
  std::vector<Blame> ballots;
  for (std::size_t i = 0; i < evidence.members.size(); ++i) {
    const std::optional<Blame> first = accusation(evidence, i);
    if (!first) continue;
    ballots.push_back(traced(evidence, *first));
    ++votes[ballots.back().member];
  }
  if (ballots.empty()) return {};
  return *std::max_element(ballots.begin(), ballots.end(), [&](const Blame& a, const Blame& b) {
    return votes[a.member] < votes[b.member];
  });
}

// Of failures seen together, the likeliest cause: death by a signal cannot be a consequence of
// another failure. Servers and scheduler mark consequences by their status.
constexpr int kFollowed = 4;

int suspicion(const JobEvidence& evidence, std::size_t member) {
  const MemberRecord& witness = evidence.members[member];
  if (!witness.lost.ok() || witness.exit->by_signal) return 0;
  if (accusation(evidence, member)) return kFollowed;
  if (witness.member.role == Role::kWorker) return 1;
  if (witness.exit->number == kExitOfLoss) return kFollowed;
  return witness.member.role == Role::kServer ? 2 : 3;
}

// The likeliest cause among `failed` by the order of ends.
std::optional<std::size_t> first_of(const JobEvidence& evidence, std::vector<std::size_t> failed) {
  if (failed.empty()) return {};
  const auto followed = [&](std::size_t i) { return suspicion(evidence, i) == kFollowed; };
  if (!std::all_of(failed.begin(), failed.end(), followed)) std::erase_if(failed, followed);
  const auto at = [&](std::size_t i) { return evidence.members[i].at; };
  const Time first = at(*std::min_element(
      failed.begin(), failed.end(), [&](std::size_t a, std::size_t b) { return at(a) < at(b); }));
  std::erase_if(failed, [&](std::size_t i) { return at(i) - first > kHindsight; });
  return *std::min_element(failed.begin(), failed.end(), [&](std::size_t a, std::size_t b) {
    return std::pair(suspicion(evidence, a), at(a)) < std::pair(suspicion(evidence, b), at(b));
  });
}

template <typename Predicate>
std::vector<std::size_t> members_where(const JobEvidence& evidence, Predicate predicate) {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < evidence.members.size(); ++i) {
    if (predicate(evidence.members[i])) found.push_back(i);
  }
  return found;
}

// The program's last message is old, or unrelated: a program kills itself only by abort().
bool has_old_words(const MemberRecord& witness) {
  return witness.said && witness.said->code == kProgramFailed && witness.exit &&
         witness.exit->by_signal && witness.exit->number != SIGABRT;
}

// The cause with the member's last message.
std::string with_words(std::string cause, const MemberRecord& witness) {
  if (!witness.said || has_old_words(witness)) return cause;
  if (witness.said->code == kProgramFailed) {
    return std::move(cause) + fmt::format(", saying '{}'", witness.said->cause);
  }
  return std::move(cause) +
         fmt::format(", saying '{}: {}'", name_of(witness.said->code), witness.said->cause);
}

// The program ended the worker: neither a signal nor a loss did.
bool failed_on_its_own(const MemberRecord& witness) {
  if (witness.member.role != Role::kWorker) return false;
  if (!witness.said) return !witness.exit->by_signal;
  if (witness.said->code == kProgramFailed) return !has_old_words(witness);
  const bool follows = names_a_cause(witness.said->code) && witness.said->code != Code::kNotFinite;
  return !witness.exit->by_signal && !follows;
}

// A scheduler that rejects its configuration is not lost: its reason is the job's.
bool scheduler_refuses(const MemberRecord& witness) {
  return witness.member.role == Role::kScheduler && witness.returned == 0 &&
         !witness.exit->by_signal && witness.said && !names_a_cause(witness.said->code);
}

// Verdict about a member that failed, or was lost, visibly.
Verdict seen(const MemberRecord& witness) {
  if (!witness.lost.ok()) {
    Verdict verdict{witness.lost_status, witness.lost, witness.member, false};
    if (witness.member.role != Role::kScheduler || !witness.exit) return verdict;
    const std::string operation = verdict.error.operation();
    const Code code = scheduler_refuses(witness) ? witness.said->code : verdict.error.code();
    verdict.error =
        Status(code, with_words(verdict.error.cause(), witness)).with_operation(operation);
    return verdict;
  }
  std::string cause = with_words(witness.exit->text(), witness);
  const Code code = scheduler_refuses(witness)   ? witness.said->code
                    : failed_on_its_own(witness) ? kProgramFailed
                                                 : code_of(witness.member.role);
  return {witness.exit->status(), Status(code, std::move(cause)).with_operation("run"),
          witness.member, true};
}

// Members that accuse the same as `blame`, as a sentence's end: ", say scheduler and worker 0".
std::string sources(const JobEvidence& evidence, const Blame& blame) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < evidence.members.size(); ++i) {
    const std::optional<Blame> own = accusation(evidence, i);
    if (own && own->member == blame.member) names.push_back(label_of(evidence.members[i].member));
  }
  if (names.size() == 1) return ", says " + names[0];
  std::string text = ", say ";
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i == kMostNames) return text + fmt::format(" and {} more", names.size() - i);
    if (i > 0) text += i + 1 == names.size() ? " and " : ", ";
    text += names[i];
  }
  return text;
}

Verdict said(const JobEvidence& evidence, const Blame& blame) {
  const ErrorLine& statement = *evidence.members[blame.speaker].said;
  if (!blame.member) {
    return {1,
            Status(Code::kLinkBroken, statement.cause + sources(evidence, blame))
                .with_peer(statement.peer)
                .with_operation("run"),
            std::nullopt};
  }
  const MemberRecord& witness = evidence.members[*blame.member];
  std::string cause = statement.cause;
  if (const std::string known = label_of(witness.member) + " is lost: "; cause.starts_with(known)) {
    cause.erase(0, known.size());
  }
  if (witness.succeeded()) cause = "exited with status 0 while others needed it: " + cause;
  const bool apart = statement.code == Code::kRendezvousTimeout;
  const bool kept = apart || statement.code == Code::kTimeout;
  return {1,
          Status(kept ? statement.code : code_of(witness.member.role),
                 std::move(cause) + sources(evidence, blame))
              .with_operation(apart ? "start" : "run"),
          witness.member};
}

// The launcher was sent a signal before any failure.
std::optional<Verdict> interrupted(const JobEvidence& evidence, int signal) {
  const std::vector<std::size_t> failed = members_where(evidence, [](const MemberRecord& witness) {
    const bool ended_badly = witness.exit.has_value() && witness.exit->failed();
    const bool is_one = witness.member.role == Role::kWorker && !witness.forgiven;
    return is_one && (ended_badly || !witness.lost.ok());
  });
  const std::string_view sent = "after the launcher was sent";
  if (const std::optional<std::size_t> first = first_of(evidence, failed)) {
    Verdict verdict = seen(evidence.members[*first]);
    verdict.error = Status(Code::kInterrupted, fmt::format("{} {} {}", verdict.error.cause(), sent,
                                                           signal_name(signal)))
                        .with_operation(verdict.error.operation());
    return verdict;
  }
  return {};
}

// Workers that survived SIGKILL, or never ran.
Verdict not_ended(const JobEvidence& evidence) {
  const int signal = evidence.interrupt.value_or(SIGKILL);
  const std::vector<std::size_t> left = members_where(evidence, [](const MemberRecord& witness) {
    return witness.life == MemberRecord::Life::kAlive;
  });
  const JobMember& who = evidence.members[left.empty() ? 0 : left.front()].member;
  return {kSignalBase + signal,
          Status(Code::kInterrupted,
                 left.empty() ? fmt::format("the launcher was sent {} before the workers had "
                                            "started",
                                            signal_name(signal))
                              : label_of(who) + " was not ended")
              .with_operation("run"),
          who};
}

}  // namespace

std::string Verdict::sentence() const {
  if (!who) return error.cause();
  return fmt::format("{}{}{}", label_of(*who), ended ? " " : " is lost: ", error.cause());
}

std::string Verdict::error_line() const {
  if (!who) return error.error_line("launcher", -1);
  return error.error_line(name_of(who->role), who->rank);
}

Verdict judge(const JobEvidence& evidence) {
  const bool others_failed = evidence.guests_go_on() && evidence.failed();
  return evidence.workers_succeeded() && !others_failed ? Verdict() : cause_of(evidence);
}

Verdict cause_of(const JobEvidence& evidence) {
  STRETTO_CHECK(!evidence.members.empty());
  const std::optional<std::size_t> first =
      first_of(evidence,
               members_where(evidence, [](const MemberRecord& w) { return w.failed_by_itself(); }));
  const std::optional<Blame> blame = elected(evidence);
  if (blame && blame->member) {
    // The loss of its host is more specific than other members' reports.
    const MemberRecord& witness = evidence.members[*blame->member];
    const bool came_late = waiter_for(evidence, *blame->member).has_value();
    if (came_late && witness.lost.ok()) return said(evidence, *blame);
    if (witness.failed_by_itself() || !witness.lost.ok()) return seen(witness);
  }
  if (blame) return said(evidence, *blame);
  if (first) return seen(evidence.members[*first]);
  const int signal = evidence.interrupt.value_or(SIGKILL);
  return interrupted(evidence, signal).value_or(not_ended(evidence));
}

bool ended_by_itself(const MemberRecord& witness) {
  const bool follows = witness.said && names_a_loss(witness.said->code);
  return witness.member.role == Role::kWorker && !witness.told && witness.exit &&
         !witness.exit->by_signal && !follows;
}

std::vector<std::size_t> given_up(const JobEvidence& evidence) {
  const auto alive = [&](std::size_t i) {
    return evidence.members[i].life == MemberRecord::Life::kAlive && !evidence.members[i].told;
  };
  const auto gives_up = [&](std::size_t speaker) -> std::optional<std::size_t> {
    const MemberRecord& witness = evidence.members[speaker];
    if (!witness.exit || !witness.said || !names_a_loss(witness.said->code)) return {};
    const std::optional<Blame> blame = accusation(evidence, speaker);
    return blame && blame->member && alive(*blame->member) ? blame->member : std::nullopt;
  };
  if (const std::optional<std::size_t> lost = gives_up(0)) return {*lost};
  const bool scheduler_alone =
      alive(0) &&
      std::none_of(evidence.members.begin() + 1, evidence.members.end(),
                   [](const MemberRecord& w) { return w.life == MemberRecord::Life::kAlive; });
  for (std::size_t i = 1; i < evidence.members.size() && scheduler_alone; ++i) {
    if (gives_up(i) == std::optional<std::size_t>(0)) return {0};
  }
  return {};
}

bool explained_by(const MemberRecord& witness, int signal) {
  if (!witness.lost.ok() || !witness.exit) return false;
  const bool of_another = witness.exit->by_signal && witness.exit->number != signal;
  return witness.exit->failed() && !of_another;
}

}  // namespace stretto::launch

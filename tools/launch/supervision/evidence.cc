// SPDX-License-Identifier: Apache-2.0
// Describes exits, and parses error lines.
#include "tools/launch/supervision/evidence.h"

#include <fmt/core.h>

#include <algorithm>

#include "common/check.h"
#include "common/program_failed.h"

namespace stretto::launch {
namespace {

using Life = MemberRecord::Life;

constexpr std::string_view kErrorLine = "ERROR ";
constexpr std::size_t kMaxNames = 8;

Code code_named(std::string_view name) {
  for (int number = 0; number <= static_cast<int>(kProgramFailed); ++number) {
    const auto code = static_cast<Code>(number);
    if (name == stretto::name_of(code)) return code;
  }
  return Code::kOk;
}

// Removes and returns the text before `end`; none if `end` is missing.
std::optional<std::string_view> take_until(std::string_view& text, std::string_view end) {
  const std::size_t found = text.find(end);
  if (found == std::string_view::npos) return std::nullopt;
  const std::string_view taken = text.substr(0, found);
  text.remove_prefix(found + end.size());
  return taken;
}

// The last line of a traceback: "stretto.errors.CODE: CAUSE (peer: PEER)", if it names a peer.
std::optional<ErrorLine> statement_of_python(std::string_view line) {
  constexpr std::string_view kBegin = "stretto.errors.";
  constexpr std::string_view kPeer = " (peer: ";
  if (!line.starts_with(kBegin)) return std::nullopt;
  line.remove_prefix(kBegin.size());
  const auto code = take_until(line, ": ");
  if (!code || code_named(*code) == Code::kOk) return std::nullopt;
  const std::size_t peer = line.rfind(kPeer);
  if (peer == std::string_view::npos || !line.ends_with(')')) {
    return ErrorLine{code_named(*code), "-", std::string(line)};
  }
  std::string_view who = line.substr(peer + kPeer.size());
  who.remove_suffix(1);
  return ErrorLine{code_named(*code), std::string(who), std::string(line.substr(0, peer))};
}

// A program may fail before it has joined, and has its own name until then.
bool speaks_for(const JobMember& speaker, std::string_view role, std::string_view rank) {
  const bool joined = role == name_of(speaker.role);
  const bool other =
      role == "scheduler" || role == "server" || role == "launcher" || role == "agent";
  const bool program = speaker.role == Role::kWorker && !joined && !other;
  if (rank == "-") return joined || program;
  return joined && rank == std::to_string(speaker.rank);
}

}  // namespace

std::optional<ErrorLine> statement_of(std::string_view line, const JobMember& speaker) {
  if (speaker.role == Role::kWorker) {
    if (auto statement = statement_of_python(line)) return statement;
  }
  if (!line.starts_with(kErrorLine)) return std::nullopt;
  line.remove_prefix(kErrorLine.size());
  const auto code = take_until(line, " role=");
  const auto role = take_until(line, " rank=");
  const auto rank = take_until(line, " peer=");
  const auto peer = take_until(line, " op=");
  const auto operation = take_until(line, " cause=");
  if (!code || !role || !rank || !peer || !operation) return std::nullopt;
  if (!speaks_for(speaker, *role, *rank) || code_named(*code) == Code::kOk) return std::nullopt;
  return ErrorLine{code_named(*code), std::string(*peer), std::string(line)};
}

bool answers_notice(const MemberRecord& witness, std::string_view line) {
  if (!witness.told || !line.starts_with(kErrorLine)) return false;
  const std::optional<ErrorLine> said = statement_of(line, witness.member);
  return said && said->code == Code::kInterrupted;
}

void JobEvidence::record_start(std::size_t member) {
  STRETTO_CHECK(members.at(member).life == Life::kUnborn);
  members[member].life = Life::kAlive;
}

void JobEvidence::record_return(std::size_t member) {
  MemberRecord& witness = members.at(member);
  STRETTO_CHECK(witness.life != Life::kAlive && witness.awaited);
  const std::uint32_t returned = witness.returned + 1;
  witness = MemberRecord(witness.member);
  witness.again = true;
  witness.returned = returned;
}

void JobEvidence::record_reuse(std::size_t member) {
  MemberRecord& witness = members.at(member);
  STRETTO_CHECK(witness.life != Life::kAlive);
  const MemberRecord before = witness;
  witness = MemberRecord(before.member);
  witness.spare = before.spare;
  witness.again = before.life == Life::kEnded;
  witness.returned = before.returned;
}

void JobEvidence::record_end(std::size_t member, const Exit& exit, Time now) {
  MemberRecord& witness = members.at(member);
  STRETTO_CHECK(witness.life == Life::kAlive && !witness.exit);
  witness.life = Life::kEnded;
  witness.exit = exit;
  witness.at = now;
}

void JobEvidence::record_loss(std::size_t member, int exit_status, Status why, Time at) {
  MemberRecord& witness = members.at(member);
  STRETTO_CHECK(!why.ok() && exit_status != 0);
  witness.lost = std::move(why);
  witness.lost_status = exit_status;
  witness.at = at;
}

void JobEvidence::record_out_of_sight(std::size_t member) {
  if (is_alive(member)) members[member].life = Life::kEnded;
}

bool JobEvidence::has_scheduler() const {
  const MemberRecord& scheduler = members.front();
  const bool begins = scheduler.life == Life::kUnborn && scheduler.returned > 0;
  return is_alive(0) || scheduler.awaited || begins;
}

bool JobEvidence::failed() const {
  return std::any_of(members.begin(), members.end(),
                     [](const MemberRecord& witness) { return witness.failed_by_itself(); });
}

bool JobEvidence::workers_ended() const {
  return std::ranges::none_of(members, [](const MemberRecord& witness) {
    return witness.life == Life::kAlive && witness.member.role == Role::kWorker;
  });
}

bool JobEvidence::all_ended() const {
  return std::none_of(members.begin(), members.end(),
                      [](const MemberRecord& witness) { return witness.life == Life::kAlive; });
}

std::string JobEvidence::alive_names(const std::function<bool(const JobMember&)>& wanted) const {
  std::string names;
  std::size_t count = 0;
  for (const MemberRecord& witness : members) {
    const bool counts = witness.life == Life::kAlive && (!wanted || wanted(witness.member));
    if (!counts || ++count > kMaxNames) continue;
    if (!names.empty()) names += ", ";
    names += label_of(witness.member);
  }
  if (count > kMaxNames) names += fmt::format(" and {} more", count - kMaxNames);
  return names;
}

bool JobEvidence::workers_succeeded() const {
  return std::all_of(members.begin(), members.end(), [](const MemberRecord& witness) {
    const bool unused = witness.spare && witness.life == Life::kUnborn;
    return witness.member.role != Role::kWorker || witness.succeeded() || witness.forgiven ||
           unused;
  });
}

}  // namespace stretto::launch

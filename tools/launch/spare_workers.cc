// SPDX-License-Identifier: Apache-2.0
// Which spare is started next, and which of them has no place.
#include "tools/launch/spare_workers.h"

#include <fmt/core.h>

namespace stretto::launch {
namespace {

bool is_free_spare(const Witness& witness) {
  const bool is_worker = witness.spare && witness.member.role == Role::kWorker;
  return is_worker && witness.life == Witness::Life::kUnborn && !witness.spent && witness.lost.ok();
}

}  // namespace

std::optional<std::size_t> spare_worker(const JobEvidence& evidence) {
  for (std::size_t member = 0; member < evidence.members.size(); ++member) {
    if (is_free_spare(evidence.members[member])) return member;
  }
  return std::nullopt;
}

std::string run_again_before_all_joined(JobEvidence& evidence, std::size_t member) {
  Witness& witness = evidence.members.at(member);
  witness.word_due.reset();
  std::optional<std::size_t> last;
  for (std::size_t other = 0; other < evidence.members.size(); ++other) {
    if (is_free_spare(evidence.members[other])) last = other;
  }
  if (!last) return {};
  evidence.members[*last].spent = true;
  const std::string how = witness.exit ? witness.exit->text() : "is lost";
  witness.awaited = true;
  evidence.record_return(member);
  return fmt::format("{} {} before all workers had joined; another is started in its place",
                     label_of(witness.member), how);
}

std::optional<std::size_t> take_unneeded(JobEvidence& evidence,
                                         std::optional<std::size_t> returned) {
  std::size_t places = 0;
  std::size_t taken = evidence.guests;
  std::optional<std::size_t> found;
  for (std::size_t member = 0; member < evidence.members.size(); ++member) {
    const Witness& witness = evidence.members[member];
    if (witness.member.role != Role::kWorker) continue;
    places += witness.spare ? 0 : 1;
    if (!evidence.is_alive(member) || witness.forgiven || witness.left || witness.told) continue;
    ++taken;
    const bool waits = witness.spare && !witness.joined;
    const bool is_first = !found || (returned && witness.replaces == returned);
    if (waits && is_first) found = member;
  }
  if (taken <= places || !found) return std::nullopt;
  evidence.members[*found].unneeded = true;
  evidence.members[*found].told = true;
  return found;
}

}  // namespace stretto::launch

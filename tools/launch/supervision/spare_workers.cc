// SPDX-License-Identifier: Apache-2.0
// Which spare starts next, and which replacement has no free slot.
#include "tools/launch/supervision/spare_workers.h"

#include <fmt/core.h>

#include <utility>

namespace stretto::launch {
namespace {

bool is_free_spare(const MemberRecord& witness) {
  const bool is_worker = witness.spare && witness.member.role == Role::kWorker;
  const bool is_unborn = witness.life == MemberRecord::Life::kUnborn && !witness.replaces;
  return is_worker && is_unborn && !witness.spent && witness.lost.ok();
}

// The member is in the job, or may still join: no other worker can have its slot.
bool has_place(const JobEvidence& evidence, std::size_t member) {
  const MemberRecord& witness = evidence.members[member];
  const bool runs = evidence.is_alive(member) || witness.unwatched;
  return witness.member.role == Role::kWorker && runs && !witness.forgiven && !witness.left &&
         !witness.told;
}

struct Places {
  std::size_t all = 0;
  std::size_t taken = 0;
};

Places places_of(const JobEvidence& evidence) {
  Places places{.all = 0, .taken = evidence.guests};
  for (std::size_t member = 0; member < evidence.members.size(); ++member) {
    const MemberRecord& witness = evidence.members[member];
    places.all += witness.member.role == Role::kWorker && !witness.spare;
    places.taken += has_place(evidence, member);
  }
  return places;
}

}  // namespace

std::optional<std::size_t> spare_worker(const JobEvidence& evidence) {
  for (std::size_t member = 0; member < evidence.members.size(); ++member) {
    if (is_free_spare(evidence.members[member])) return member;
  }
  return std::nullopt;
}

std::string run_again_before_all_joined(JobEvidence& evidence, std::size_t member) {
  MemberRecord& witness = evidence.members.at(member);
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
  std::optional<std::size_t> found;
  for (std::size_t member = 0; member < evidence.members.size(); ++member) {
    const MemberRecord& witness = evidence.members[member];
    const bool waits = witness.spare && !witness.joined && has_place(evidence, member);
    const bool is_first = !found || (returned && witness.replaces == returned);
    if (waits && is_first) found = member;
  }
  const Places places = places_of(evidence);
  if (places.taken <= places.all || !found) return std::nullopt;
  evidence.members[*found].unneeded = true;
  evidence.members[*found].told = true;
  return found;
}

std::uint32_t replaced_in(const JobEvidence& evidence) {
  std::uint32_t replaced = 0;
  for (const MemberRecord& witness : evidence.members) {
    const bool worker = witness.spare && witness.member.role == Role::kWorker;
    replaced += witness.returned + (worker && witness.life != MemberRecord::Life::kUnborn);
  }
  return replaced;
}

std::optional<std::size_t> take_unreplaced(JobEvidence& evidence) {
  const Places places = places_of(evidence);
  if (places.taken >= places.all) return std::nullopt;
  for (std::size_t member = 0; member < evidence.members.size(); ++member) {
    MemberRecord& witness = evidence.members[member];
    if (witness.forgiven && std::exchange(witness.unreplaced, false)) return member;
  }
  return std::nullopt;
}

}  // namespace stretto::launch

// SPDX-License-Identifier: Apache-2.0
// Absence follows from missing members, abandonment from survivors' statements.
#include "tools/launch/supervision/loss_detector.h"

#include <algorithm>

#include "tools/launch/supervision/root_cause.h"

namespace stretto::launch {

void LossDetector::on_gathering(JobFormation gathering, Time now) {
  gathered_ = gathered_ || gathering == JobFormation::kComplete;
  if (gathered_ || gathering == JobFormation::kUnawaited) {
    awaited_since_.reset();
  } else if (!awaited_since_) {
    awaited_since_ = now;
  }
}

// An ended worker cannot join any more, whatever its status.
std::optional<Time> LossDetector::absence_due(const MemberRecord& witness) const {
  const bool absent = witness.member.role == Role::kWorker && witness.succeeded() &&
                      !witness.told && witness.lost.ok();
  if (!awaited_since_ || !absent) return std::nullopt;
  return std::max(*awaited_since_, witness.at) + patience_;
}

std::vector<std::size_t> LossDetector::absent(const JobEvidence& evidence, Time now) const {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < evidence.members.size(); ++i) {
    const std::optional<Time> due = absence_due(evidence.members[i]);
    if (due && now >= *due) found.push_back(i);
  }
  return found;
}

std::vector<std::size_t> LossDetector::abandoned(const JobEvidence& evidence, Time now) {
  std::vector<std::size_t> lost = given_up(evidence);
  if (lost.empty()) {
    abandoned_at_.reset();
  } else if (!abandoned_at_) {
    abandoned_at_ = now + kHindsight;
  }
  if (abandoned_at_ && now < *abandoned_at_) lost.clear();
  return lost;
}

std::optional<Time> LossDetector::absence_deadline(const JobEvidence& evidence) const {
  std::optional<Time> first;
  for (const MemberRecord& witness : evidence.members) {
    const std::optional<Time> due = absence_due(witness);
    if (due && (!first || *due < *first)) first = due;
  }
  return first;
}

}  // namespace stretto::launch

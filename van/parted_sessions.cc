// SPDX-License-Identifier: Apache-2.0
// Whoever made the first link makes the next.
#include "van/parted_sessions.h"

#include <algorithm>

namespace stretto {
namespace {

constexpr Duration kTryEvery = std::chrono::milliseconds(100);

}  // namespace

void PartedSessions::part(LinkId session, bool ours, const Status& why, Time now) {
  const auto [found, anew] = parted_.try_emplace(session);
  Parted& parted = found->second;
  if (anew) {
    parted.ours = ours;
    parted.why = why;
    parted.until = now + patience_;
  }
  parted.apart = true;
  parted.next_try = anew ? now : now + kTryEvery;
}

void PartedSessions::join(LinkId session) {
  const auto found = parted_.find(session);
  if (found == parted_.end()) return;
  found->second.apart = false;
  found->second.attempt = 0;
}

std::vector<LinkId> PartedSessions::to_connect(Time now) {
  std::vector<LinkId> due;
  for (auto& [session, parted] : parted_) {
    if (!parted.apart || !parted.ours || parted.attempt != 0 || now < parted.next_try) continue;
    parted.next_try = now + kTryEvery;
    due.push_back(session);
  }
  return due;
}

void PartedSessions::attempted(LinkId session, LinkId attempt) {
  const auto found = parted_.find(session);
  if (found != parted_.end()) found->second.attempt = attempt;
}

LinkId PartedSessions::attempted_by(LinkId attempt) const {
  if (attempt == 0) return 0;
  const auto found = std::ranges::find_if(
      parted_, [attempt](const auto& item) { return item.second.attempt == attempt; });
  return found == parted_.end() ? 0 : found->first;
}

LinkId PartedSessions::attempt_of(LinkId session) const {
  const auto found = parted_.find(session);
  return found == parted_.end() ? 0 : found->second.attempt;
}

std::vector<PartedSessions::Lost> PartedSessions::lost(Time now) const {
  std::vector<Lost> all;
  for (const auto& [session, parted] : parted_) {
    if (parted.apart && now >= parted.until) all.push_back({session, parted.why});
  }
  return all;
}

Time PartedSessions::next_due() const {
  Time due = Time::max();
  for (const auto& [session, parted] : parted_) {
    if (!parted.apart) continue;
    due = std::min(due, parted.until);
    if (parted.ours && parted.attempt == 0) due = std::min(due, parted.next_try);
  }
  return due;
}

}  // namespace stretto

// SPDX-License-Identifier: Apache-2.0
// The end that opened the first link opens the next.
#include "van/session/parted_sessions.h"

#include <algorithm>

#include "common/clock.h"

namespace stretto {
namespace {

constexpr Duration kTryEvery = std::chrono::milliseconds(100);  // And up to twice that.
// Most attempts are short, so that one starts soon after the network is back. Every third one is
// long enough for a distant peer.
constexpr std::uint32_t kLongTry = 3;
constexpr int kLongTryLasts = 4;

}  // namespace

// Thousands of members that lose one peer must not connect at the same moments.
Duration PartedSessions::spread(LinkId session, std::uint32_t tries) const {
  if (seed_ == 0) return {};
  std::uint64_t mixed = (seed_ << 32 ^ session ^ std::uint64_t{tries} << 20) * 0x9E3779B97F4A7C15U;
  mixed = (mixed ^ mixed >> 29) * 0xBF58476D1CE4E5B9U;
  return kTryEvery * static_cast<std::int64_t>(mixed >> 54) / 1024;
}

void PartedSessions::part(LinkId session, bool ours, const Status& why, Duration patience,
                          Time now) {
  const auto [found, anew] = parted_.try_emplace(session);
  Parted& parted = found->second;
  if (anew) {
    parted.ours = ours;
    parted.why = why;
    parted.since = now;
    parted.until = after(now, patience);
  }
  parted.apart = true;
  parted.next_try = anew ? now : now + kTryEvery + spread(session, parted.tries);
}

std::optional<PartedSessions::Apart> PartedSessions::join(LinkId session) {
  const auto found = parted_.find(session);
  if (found == parted_.end()) return std::nullopt;
  Parted& parted = found->second;
  parted.apart = false;
  parted.attempt = 0;
  parted.refused_since = Time::max();
  return Apart{parted.since, parted.why};
}

void PartedSessions::give_up(LinkId session, const Status& why) {
  const auto found = parted_.find(session);
  if (found == parted_.end()) return;
  found->second.until = Time();
  if (!why.ok()) found->second.why = why;
}

void PartedSessions::wait_for(LinkId session, Duration patience) {
  const auto found = parted_.find(session);
  if (found == parted_.end() || found->second.until == Time()) return;
  if (found->second.why.code() == Code::kTimeout) return;
  found->second.until = after(found->second.since, patience);
}

std::vector<LinkId> PartedSessions::to_connect(Time now) {
  std::vector<LinkId> due;
  for (auto& [session, parted] : parted_) {
    if (!parted.apart || !parted.ours || parted.attempt != 0 || now < parted.next_try) continue;
    const bool is_long = ++parted.tries % kLongTry == 0;
    const Duration lasts = limits_.attempt;
    const bool bounded = lasts < Duration::max() / kLongTryLasts;
    parted.attempt_until =
        bounded ? after(now, is_long ? lasts * kLongTryLasts : lasts) : Time::max();
    parted.next_try = now + kTryEvery + spread(session, parted.tries);
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

void PartedSessions::failed(LinkId attempt, bool refused, Time now) {
  const auto found = parted_.find(attempted_by(attempt));
  if (found == parted_.end()) return;
  Parted& parted = found->second;
  parted.attempt = 0;
  parted.refused_since = refused ? std::min(parted.refused_since, now) : Time::max();
  if (!refused) return;
  const Time believed = after(parted.refused_since, limits_.grace);
  if (now >= believed) parted.until = std::min(parted.until, now);
  parted.next_try = std::min(parted.next_try, believed);
}

std::vector<LinkId> PartedSessions::late(Time now) const {
  std::vector<LinkId> all;
  for (const auto& [session, parted] : parted_) {
    if (parted.attempt != 0 && now >= parted.attempt_until) all.push_back(parted.attempt);
  }
  return all;
}

LinkId PartedSessions::attempt_of(LinkId session) const {
  const auto found = parted_.find(session);
  return found == parted_.end() ? 0 : found->second.attempt;
}

std::vector<std::pair<LinkId, LinkId>> PartedSessions::attempts() const {
  std::vector<std::pair<LinkId, LinkId>> all;
  for (const auto& [session, parted] : parted_) {
    if (parted.attempt != 0) all.emplace_back(session, parted.attempt);
  }
  return all;
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
    if (parted.ours)
      due = std::min(due, parted.attempt == 0 ? parted.next_try : parted.attempt_until);
  }
  return due;
}

}  // namespace stretto

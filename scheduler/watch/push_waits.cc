// SPDX-License-Identifier: Apache-2.0
// Shards hold other parts of the same tensors: what they say is put together by who is missing.
#include "scheduler/watch/push_waits.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "common/clock.h"

namespace stretto {
namespace {

constexpr std::size_t kMostNamesTold = 3;
constexpr std::size_t kMostRanksTold = 8;

std::string workers_text(const std::set<Rank>& ranks, std::uint32_t all) {
  std::string text = ranks.size() == 1 && all <= 1 ? "worker" : "workers";
  std::size_t told = 0;
  for (const Rank rank : ranks) {
    if (told == kMostRanksTold) break;
    text += fmt::format("{} {}", told++ == 0 ? "" : ",", rank);
  }
  const std::size_t more = std::max<std::size_t>(ranks.size(), all) - told;
  return more == 0 ? text : fmt::format("{} and {} more", text, more);
}

}  // namespace

const PushWaits::Wait* PushWaits::Waits::longest() const {
  const auto found = std::ranges::min_element(waits, {}, &Wait::since);
  return found == waits.end() ? nullptr : &*found;
}

bool PushWaits::Waits::has(const Wait& wait) const {
  return std::ranges::any_of(waits, [&](const Wait& each) {
    return each.tensor == wait.tensor && each.round == wait.round;
  });
}

Duration PushWaits::Waits::unusual() const {
  std::array<Duration, kRemembered> sorted = ended;
  std::ranges::sort(sorted);
  return std::max(kStandstill, 2 * sorted[kRemembered / 2]);
}

void PushWaits::heard(NodeId shard, const control::Heartbeat& beat, Time now) {
  Waits told;
  for (const control::LongWait& wait : beat.long_waits) {
    told.tensors = std::max(told.tensors, wait.tensors);
    if (wait.ranks.empty()) continue;
    told.waits.push_back({.tensor = wait.tensor,
                          .round = wait.round,
                          .since = now - wait.age,
                          .ranks = wait.ranks,
                          .workers = wait.workers});
  }
  told.tensors = std::max(told.tensors, static_cast<std::uint32_t>(told.waits.size()));
  Waits& before = by_shard_[shard];
  told.ended = before.ended;
  told.next = before.next;
  if (const Wait* wait = before.longest(); wait != nullptr && !told.has(*wait)) {
    told.ended[told.next++ % kRemembered] = now - wait->since;
  }
  before = std::move(told);
}

std::optional<PushWaits::Summary> PushWaits::summary(Time now) const {
  const Wait* longest = nullptr;
  for (const auto& [shard, told] : by_shard_) {
    const Wait* here = told.longest();
    if (here == nullptr || now - here->since < told.unusual()) continue;
    if (longest == nullptr || here->since < longest->since) longest = here;
  }
  if (longest == nullptr) return std::nullopt;
  std::set<std::string> names;
  std::set<Rank> ranks;
  std::uint32_t workers = 0;
  std::size_t unnamed = 0;  // Of a shard that has more than it names; parts may lie at several.
  for (const auto& [shard, told] : by_shard_) {
    for (const Wait& wait : told.waits) {
      names.insert(wait.tensor);
      ranks.insert(wait.ranks.begin(), wait.ranks.end());
      workers = std::max(workers, wait.workers);
    }
    unnamed = std::max(unnamed, told.tensors - told.waits.size());
  }
  std::string tensors = fmt::format("'{}'", longest->tensor);
  std::size_t named = 1;
  for (const std::string& name : names) {
    if (named == kMostNamesTold || name == longest->tensor) continue;
    tensors += fmt::format(", '{}'", name);
    ++named;
  }
  const std::size_t more = names.size() + unnamed - named;
  if (more > 0) tensors += fmt::format(" and {} more", more);
  const bool one = ranks.size() == 1 && workers <= 1;
  return Summary{.age = now - longest->since,
                 .ranks = {ranks.begin(), ranks.end()},
                 .text = fmt::format("{} {} not pushed {}, round {}", workers_text(ranks, workers),
                                     one ? "has" : "have", tensors, longest->round)};
}

}  // namespace stretto

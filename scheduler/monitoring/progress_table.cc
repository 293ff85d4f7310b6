// SPDX-License-Identifier: Apache-2.0
// Rounds in a window tell a slow worker apart from a late joiner.
#include "scheduler/monitoring/progress_table.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>

#include "common/clock.h"

namespace stretto {
namespace {

constexpr Duration kWindow = 10s;
constexpr std::uint64_t kLeastRounds = 10;

}  // namespace

void ProgressTable::heard(Rank rank, std::uint64_t rounds, std::uint64_t staleness, Time now,
                          std::uint64_t missed) {
  Worker& worker = workers_[rank];
  worker.rounds = rounds;
  worker.missed = missed;
  worker.staleness = staleness;
  worker.heard = now;
}

void ProgressTable::left(Rank rank) { workers_.erase(rank); }

std::string ProgressTable::metrics(Time now) const {
  std::uint64_t most = 0;
  for (const auto& [rank, worker] : workers_) most = std::max(most, worker.rounds + worker.missed);
  std::string text;
  const auto family = [&](std::string_view name, std::string_view type, std::string_view help,
                          auto number) {
    text += fmt::format("# HELP {0} {1}\n# TYPE {0} {2}\n", name, help, type);
    for (const auto& [rank, worker] : workers_) {
      text += fmt::format("{}{{rank=\"{}\"}} {}\n", name, rank, number(worker));
    }
  };
  family("stretto_worker_rounds_total", "counter",
         "Rounds that the worker has pushed, of the tensor with most.",
         [](const Worker& worker) { return worker.rounds; });
  family("stretto_worker_rounds_behind", "gauge", "Rounds that the fastest worker is ahead.",
         [most](const Worker& worker) { return most - worker.rounds - worker.missed; });
  family("stretto_worker_staleness", "gauge",
         "Updates of others between the last two values that came to the worker.",
         [](const Worker& worker) { return worker.staleness; });
  family("stretto_worker_silence_seconds", "gauge", "Time since the worker's last heartbeat.",
         [now](const Worker& worker) { return seconds(now - worker.heard); });
  return text;
}

std::string ProgressTable::laggards(Time now) {
  if (now < window_ends_) return {};
  window_ends_ = now + kWindow;
  std::vector<std::uint64_t> rounds;
  for (const auto& [rank, worker] : workers_) {
    if (worker.was_there) rounds.push_back(worker.rounds - worker.rounds_before);
  }
  const auto middle = rounds.begin() + static_cast<std::ptrdiff_t>(rounds.size() / 2);
  if (!rounds.empty()) std::nth_element(rounds.begin(), middle, rounds.end());
  std::string text;
  for (auto& [rank, worker] : workers_) {
    const std::uint64_t done = worker.rounds - worker.rounds_before;
    if (worker.was_there && *middle >= kLeastRounds && done < *middle / 2) {
      text += fmt::format("{}worker {} did {} rounds in {:.0f} s, the middle one {}",
                          text.empty() ? "" : "; ", rank, done, seconds(kWindow), *middle);
    }
    worker.rounds_before = worker.rounds;
    worker.was_there = true;
  }
  return text;
}

}  // namespace stretto

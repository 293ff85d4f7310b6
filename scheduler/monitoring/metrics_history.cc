// SPDX-License-Identifier: Apache-2.0
// Converts snapshots to samples, and samples to columns.
#include "scheduler/monitoring/metrics_history.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "common/clock.h"
#include "scheduler/monitoring/rounding.h"

namespace stretto {
namespace {

using Json = nlohmann::json;

// Below this rate a window of rates holds too few rounds: each round is timed.
constexpr double kFewRounds = 2;

// The median over the workers.
template <typename Get>
auto middle_worker(const std::vector<const Snapshot::NodeState*>& workers, Get get) {
  std::vector<decltype(get(*workers.front()))> numbers;
  numbers.reserve(workers.size());
  for (const Snapshot::NodeState* worker : workers) numbers.push_back(get(*worker));
  const auto middle = numbers.begin() + static_cast<std::ptrdiff_t>(numbers.size() / 2);
  std::nth_element(numbers.begin(), middle, numbers.end());
  return *middle;
}

Json number_or_null(const std::optional<double>& value) {
  return value ? Json(rounded(*value)) : Json(nullptr);
}

}  // namespace

// The duration of a round; while no new round begins, at least the time since the last one.
std::optional<double> History::step_of(const std::vector<const Snapshot::NodeState*>& workers,
                                       Time now) {
  if (workers.empty()) return std::nullopt;
  const auto rounds = middle_worker(workers, [](const auto& node) { return node.rounds; });
  const double rate = middle_worker(workers, [](const auto& node) { return node.rounds_per_s; });
  const double passed = seconds(now - since_);
  const std::uint64_t done = rounds - std::min(rounds, rounds_);
  if (rounds == rounds_) {
    return step_s_ && passed > 2 * *step_s_ ? std::optional(passed) : std::nullopt;
  }
  const bool first = rounds_ == 0;
  rounds_ = rounds;
  since_ = now;
  if (first || done == 0) return std::nullopt;  // The first round's start is unknown.
  step_s_ = rate >= kFewRounds ? 1 / rate : passed / static_cast<double>(done);
  return step_s_;
}

std::vector<std::optional<History::Spread>> History::reports_of(
    const std::vector<const Snapshot::NodeState*>& workers) {
  for (const Snapshot::NodeState* worker : workers) {
    for (const auto& [name, value] : worker->reports) {
      const bool known = std::find(names_.begin(), names_.end(), name) != names_.end();
      if (!known && names_.size() < kMostNames) names_.push_back(name);
    }
  }
  std::vector<std::optional<Spread>> all;
  for (const std::string& name : names_) {
    std::optional<Spread> spread;
    std::size_t count = 0;
    for (const Snapshot::NodeState* worker : workers) {
      const auto found = worker->reports.find(name);
      if (found == worker->reports.end()) continue;
      const double value = found->second;
      if (!spread) spread = Spread{.mean = 0, .low = value, .high = value};
      spread->low = std::min(spread->low, value);
      spread->high = std::max(spread->high, value);
      // Updated incrementally: a sum of finite numbers may overflow.
      spread->mean += (value - spread->mean) / static_cast<double>(++count);
    }
    all.push_back(spread);
  }
  return all;
}

void History::look(const Snapshot& snapshot, Time now) {
  if (now < next_) return;
  next_ = now + kEvery;
  std::vector<const Snapshot::NodeState*> workers;
  Sample sample{.at = now, .step_s = {}, .pushed_per_s = 0, .staleness = 0, .reports = {}};
  for (const auto& [id, node] : snapshot.nodes()) {
    if (node.member.role != Role::kWorker || node.member.left) continue;
    workers.push_back(&node);
    sample.pushed_per_s += node.out_per_s;
    sample.staleness = std::max(sample.staleness, node.staleness);
  }
  if (workers.empty()) return;
  sample.step_s = step_of(workers, now);
  sample.reports = reports_of(workers);
  samples_.push_back(std::move(sample));
  if (samples_.size() > kMostSamples) samples_.pop_front();
}

std::string History::json(Time now) const {
  Json ages = Json::array();
  Json steps = Json::array();
  Json pushed = Json::array();
  Json staleness = Json::array();
  for (const Sample& sample : samples_) {
    ages.push_back(rounded(seconds(now - sample.at)));
    steps.push_back(number_or_null(sample.step_s));
    pushed.push_back(rounded(sample.pushed_per_s));
    staleness.push_back(sample.staleness);
  }
  Json reports = Json::object();
  for (std::size_t i = 0; i < names_.size(); ++i) {
    const auto column = [&](auto get) {
      Json values = Json::array();
      for (const Sample& sample : samples_) {
        const bool known = i < sample.reports.size() && sample.reports[i];
        values.push_back(known ? Json(rounded(get(*sample.reports[i]))) : Json(nullptr));
      }
      return values;
    };
    reports[names_[i]] = {{"mean", column([](const Spread& s) { return s.mean; })},
                          {"low", column([](const Spread& s) { return s.low; })},
                          {"high", column([](const Spread& s) { return s.high; })}};
  }
  const Json all = {{"every_s", seconds(kEvery)},        {"age_s", std::move(ages)},
                    {"step_s", std::move(steps)},        {"pushed", std::move(pushed)},
                    {"staleness", std::move(staleness)}, {"reports", std::move(reports)}};
  return all.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace stretto

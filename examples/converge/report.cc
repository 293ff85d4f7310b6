// SPDX-License-Identifier: Apache-2.0
// Evaluates the snapshots after training, and formats the report.
#include "examples/converge/report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace converge {

namespace {

constexpr std::size_t kInARow = 3;

std::string number(double value) {
  return std::isfinite(value) ? fmt::format("{:.5g}", value) : "null";
}

/// Index of the first of three consecutive scores that all reach the target.
std::optional<std::size_t> first_at_target(const std::vector<Score>& scores, double target) {
  std::size_t row = 0;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    row = scores[i].accuracy >= target ? row + 1 : 0;
    if (row == kInARow) return i + 1 - kInARow;
  }
  return std::nullopt;
}

/// FNV-1a: almost certainly differs if any bit of the values does.
std::uint64_t checksum(const Tensors& values) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const std::vector<float>& tensor : values) {
    for (const std::byte byte : std::as_bytes(std::span(tensor))) {
      hash = (hash ^ std::to_integer<std::uint64_t>(byte)) * 0x100000001b3;
    }
  }
  return hash;
}

template <typename Get>
std::string list(const Outcome& outcome, Get get) {
  std::vector<std::string> numbers;
  for (const WorkerTimes& worker : outcome.workers) numbers.push_back(number(get(worker)));
  return fmt::format("[{}]", fmt::join(numbers, ","));
}

std::string words_of(const Settings& settings) {
  const stretto::ParameterOptions& options = settings.options;
  return fmt::format(
      R"("task":"{}","mode":"{}","rule":"{}","rate":{},"warm_up":{},"bound":{},"probe":{},)"
      R"("overlay":{},"gradients":{},"batch":{},"step_ms":{},"jitter":{},"slow":{},"seed":{},)"
      R"("target":{})",
      settings.task, settings.mode_name, settings.rule_name, settings.rate, options.warm_up,
      options.bound, options.probe, options.overlay, settings.gradients, settings.batch,
      settings.step_ms, settings.jitter, settings.slow, settings.seed, settings.target);
}

std::string words_of(const Outcome& outcome) {
  const double seconds = outcome.workers.front().seconds * outcome.before.processors;
  const auto each = [&](auto get) { return list(outcome, get); };
  return fmt::format(
      R"("seconds":{},"job_cpu":{},"machine_cpu":{},"processes":{},"steps":{},"steps_per_s":{},)"
      R"("exchange_ms":{},"late_ms":{},"late_p99_ms":{},"staleness":{},"factor":{})",
      number(outcome.workers.front().seconds),
      number((outcome.after.job - outcome.before.job) / seconds),
      number((outcome.after.machine - outcome.before.machine) / seconds), outcome.after.processes,
      each([](const WorkerTimes& w) { return w.steps; }),
      each([](const WorkerTimes& w) { return w.steps / w.seconds; }),
      each([](const WorkerTimes& w) { return w.exchange_ms; }),
      each([](const WorkerTimes& w) { return w.late_ms; }),
      each([](const WorkerTimes& w) { return w.late_p99_ms; }),
      each([](const WorkerTimes& w) { return w.staleness; }),
      each([](const WorkerTimes& w) { return w.factor; }));
}

std::string curve(const Outcome& outcome, const std::vector<Score>& scores) {
  std::vector<std::string> points;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    const Snapshot& at = outcome.snapshots[i];
    points.push_back(fmt::format("[{},{},{},{}]", number(at.gradients), number(at.seconds),
                                 number(scores[i].accuracy), number(scores[i].loss)));
  }
  return fmt::format("[{}]", fmt::join(points, ","));
}

}  // namespace

std::string report(const Settings& settings, const Outcome& outcome, Task& task) {
  std::vector<Score> scores;
  for (const Snapshot& snapshot : outcome.snapshots) {
    scores.push_back(task.network.score(views_of(snapshot.values), task.test));
  }
  const auto reached = first_at_target(scores, settings.target);
  const auto at = [&](auto get) {
    return reached ? number(get(outcome.snapshots[*reached])) : "null";
  };
  return fmt::format(
      R"({{{},"workers":{},"gradients_to_target":{},"seconds_to_target":{},"final_accuracy":{},)"
      R"("final_loss":{},"checksum":"{:016x}",{},"curve":{}}})",
      words_of(settings), outcome.workers.size(), at([](const Snapshot& s) { return s.gradients; }),
      at([](const Snapshot& s) { return s.seconds; }), number(scores.back().accuracy),
      number(scores.back().loss), checksum(outcome.snapshots.back().values), words_of(outcome),
      curve(outcome, scores));
}

}  // namespace converge

// SPDX-License-Identifier: Apache-2.0
// Modelled devices: one row each for the tuner's choices beside the best of the grid.
#include "experiments/io/io.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "experiments/io/io_tuning.h"
#include "tools/bench/support/statistics.h"

namespace stretto::bench::experiments {
namespace {

using input::TunerLimits;

// ---- modelled devices

/// The results of tuning one kind of device, from many seeds.
struct Outcome {
  std::vector<double> shares;  // Of the best rate.
  std::vector<double> probes;
  GridCell typical;  // The most frequent choice.
};

Outcome outcome_of(const DeviceModel& model, const TunerLimits& limits, double best,
                   std::uint32_t seeds) {
  Outcome outcome;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::pair<GridCell, std::uint32_t>> choices;
  for (std::uint32_t seed = 1; seed <= seeds; ++seed) {
    const Tuned tuned = tune(model, limits, seed);
    auto& [cell, count] = choices[{tuned.knobs.depth, tuned.knobs.read_bytes}];
    if (count++ == 0) cell = long_run(model, tuned.knobs);
    outcome.shares.push_back(cell.bytes_per_s / best);
    outcome.probes.push_back(tuned.probes);
  }
  std::uint32_t most = 0;
  for (const auto& [knobs, choice] : choices) {
    if (choice.second <= most) continue;
    most = choice.second;
    outcome.typical = choice.first;
  }
  std::sort(outcome.shares.begin(), outcome.shares.end());
  return outcome;
}

double mean_of(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return values.empty() ? 0 : sum / static_cast<double>(values.size());
}

Record record_of(std::string_view kind, const Outcome& outcome, double best) {
  const auto missed = std::count_if(outcome.shares.begin(), outcome.shares.end(),
                                    [](double share) { return share < 0.95; });
  Record record;
  record.text("name", "io")
      .text("device", "model")
      .text("kind", kind)
      .count("depth", outcome.typical.knobs.depth)
      .count("read_bytes", outcome.typical.knobs.read_bytes)
      .real("gb_per_s", outcome.typical.bytes_per_s / 1e9)
      .real("p95_ms", 1e3 * outcome.typical.p95_s)
      .real("probes", *std::max_element(outcome.probes.begin(), outcome.probes.end()))
      .real("probes_mean", mean_of(outcome.probes))
      .real("tuned_gb_per_s", mean_of(outcome.shares) * best / 1e9)
      .real("best_grid_gb_per_s", best / 1e9)
      .real("ratio_to_best", mean_of(outcome.shares))
      .real("ratio_p5", quantile(outcome.shares, 0.05))
      .real("ratio_min", outcome.shares.front())
      .count("below_95", static_cast<std::uint64_t>(missed))
      .count("seeds", outcome.shares.size());
  return record;
}

void run_models(const IoSettings& io, Output& output) {
  std::vector<DeviceModel> kinds = io.kinds;
  if (kinds.empty()) kinds.assign(device_models().begin(), device_models().end());
  TunerLimits limits;
  limits.window = 50ms;  // Virtual time: short windows of this device have no extra noise.
  output.title(fmt::format("io: modelled devices in virtual time, {} seeds each", io.seeds));
  output.columns({"kind", "depth", "read_bytes", "gb_per_s", "p95_ms", "probes", "tuned_gb_per_s",
                  "best_grid_gb_per_s", "ratio_to_best", "ratio_min", "below_95"});
  for (const DeviceModel& kind : kinds) {
    const double best = best_of(exhaustive_grid(kind, limits), limits).bytes_per_s;
    output.row(record_of(kind.name, outcome_of(kind, limits, best, io.seeds), best));
  }
}

}  // namespace

Status run_io(const IoSettings& settings, Output& output) {
  if (settings.real) return run_io_real(settings, output);
  run_models(settings, output);
  return {};
}

}  // namespace stretto::bench::experiments

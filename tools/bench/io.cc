// SPDX-License-Identifier: Apache-2.0
// Modelled devices: the grid, the tuner and what it is compared with, as rows.
#include "tools/bench/io.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "tools/bench/io_changes.h"
#include "tools/bench/io_csv.h"
#include "tools/bench/io_real.h"
#include "tools/bench/io_tuning.h"
#include "tools/bench/statistics.h"

namespace stretto::bench {
namespace {

using input::TunerLimits;

// ---- modelled devices

/// One way of tuning one kind of device, from many seeds.
struct Outcome {
  std::vector<double> shares;  // Of the best.
  std::vector<double> probes;
  std::vector<double> windows;
  GridCell typical;  // Of the choice that was made most often.
};

Outcome outcome_of(std::string_view way, const DeviceModel& model, const TunerLimits& limits,
                   double best, std::uint32_t seeds) {
  Outcome outcome;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::pair<GridCell, std::uint32_t>> choices;
  for (std::uint32_t seed = 1; seed <= seeds; ++seed) {
    const Tuned tuned = tune(way, model, limits, seed);
    auto& [cell, count] = choices[{tuned.knobs.depth, tuned.knobs.read_bytes}];
    if (count++ == 0) cell = long_run(model, tuned.knobs);
    outcome.shares.push_back(cell.bytes_per_s / best);
    outcome.probes.push_back(tuned.probes);
    outcome.windows.push_back(tuned.windows);
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

Record record_of(std::string_view kind, std::string_view way, const Outcome& outcome, double best) {
  const auto missed = std::count_if(outcome.shares.begin(), outcome.shares.end(),
                                    [](double share) { return share < 0.95; });
  Record record;
  record.text("name", "io")
      .text("device", "model")
      .text("kind", kind)
      .text("way", way)
      .count("depth", outcome.typical.knobs.depth)
      .count("read_bytes", outcome.typical.knobs.read_bytes)
      .real("gb_per_s", outcome.typical.bytes_per_s / 1e9)
      .real("p95_ms", 1e3 * outcome.typical.p95_s)
      .real("probes", *std::max_element(outcome.probes.begin(), outcome.probes.end()))
      .real("probes_mean", mean_of(outcome.probes))
      .real("windows_mean", mean_of(outcome.windows))
      .real("tuned_gb_per_s", mean_of(outcome.shares) * best / 1e9)
      .real("best_grid_gb_per_s", best / 1e9)
      .real("ratio_to_best", mean_of(outcome.shares))
      .real("ratio_p5", quantile(outcome.shares, 0.05))
      .real("ratio_min", outcome.shares.front())
      .count("below_95", static_cast<std::uint64_t>(missed))
      .count("seeds", outcome.shares.size());
  return record;
}

TunerLimits model_limits() {
  TunerLimits limits;
  limits.window = 50ms;  // Virtual time: the device has no more noise in short windows.
  return limits;
}

void run_models(const IoSettings& io, Output& output, IoCsv& csv) {
  std::vector<DeviceModel> kinds = io.kinds;
  if (kinds.empty()) kinds.assign(device_models().begin(), device_models().end());
  const TunerLimits limits = model_limits();
  output.title(fmt::format("io: modelled devices in virtual time, {} seeds each", io.seeds));
  output.columns({"kind", "way", "depth", "read_bytes", "gb_per_s", "p95_ms", "probes",
                  "tuned_gb_per_s", "best_grid_gb_per_s", "ratio_to_best", "ratio_min",
                  "below_95"});
  for (const DeviceModel& kind : kinds) {
    const std::vector<GridCell> grid = exhaustive_grid(kind, limits);
    const double best = best_of(grid, limits).bytes_per_s;
    csv.grid(kind.name, grid);
    csv.trials(kind.name, tune("tuner", kind, limits, 1).trials);
    for (const std::string_view way : ways_of_tuning()) {
      output.row(record_of(kind.name, way, outcome_of(way, kind, limits, best, io.seeds), best));
    }
  }
}

void run_changes(const IoSettings& io, Output& output) {
  const TunerLimits limits = model_limits();
  output.title(fmt::format("io: the device changes after it has been tuned, {} seeds", io.seeds));
  output.columns({"change", "windows_p50", "windows_max", "settled_p50", "settled_max",
                  "ratio_to_best", "ratio_min", "false_searches"});
  for (const DeviceChange& change : device_changes()) {
    const double best = best_of(exhaustive_grid(change.after, limits), limits).bytes_per_s;
    std::vector<double> windows;
    std::vector<double> settled;
    std::vector<double> shares;
    std::uint64_t false_searches = 0;
    for (std::uint32_t seed = 1; seed <= io.seeds; ++seed) {
      const Retuning retuning = retune(change.before, change.after, best, limits, seed);
      windows.push_back(retuning.windows);
      settled.push_back(retuning.windows_to_settle);
      shares.push_back(long_run(change.after, retuning.after).bytes_per_s / best);
      false_searches += retuning.false_searches;
    }
    const Spread windows_spread = spread_of(windows);
    const Spread settled_spread = spread_of(settled);
    Record record;
    record.text("name", "io_change")
        .text("change", change.name)
        .real("windows_p50", windows_spread.median)
        .real("windows_max", windows_spread.max)
        .real("settled_p50", settled_spread.median)
        .real("settled_max", settled_spread.max)
        .real("ratio_to_best", mean_of(shares))
        .real("ratio_min", spread_of(shares).min)
        .count("false_searches", false_searches)
        .count("seeds", io.seeds);
    output.row(record);
  }
}

}  // namespace

Status run_io(const Settings& settings, Output& output) {
  IoCsv csv(settings.io.csv);
  if (settings.io.real) {
    if (Status status = run_real(settings, output, csv); !status.ok()) return status;
  } else {
    run_models(settings.io, output, csv);
    if (settings.io.changes) run_changes(settings.io, output);
  }
  return csv.finish();
}

}  // namespace stretto::bench

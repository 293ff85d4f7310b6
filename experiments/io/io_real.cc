// SPDX-License-Identifier: Apache-2.0
// A shared disk varies in speed over time. So each setting of the grid is measured next to a
// constant setting, and counted relative to it; the final comparison alternates.
#include <fmt/core.h>

#include <algorithm>

#include "common/clock.h"
#include "experiments/io/io.h"
#include "experiments/io/io_disk.h"
#include "experiments/io/io_tuning.h"
#include "tools/bench/support/now.h"
#include "tools/bench/support/statistics.h"

namespace stretto::bench::experiments {
namespace {

using input::Knobs;
using input::TunerLimits;
using input::Window;

constexpr std::uint32_t kMostWindows = 2000;
constexpr int kRounds = 7;
constexpr Knobs kDefault{1, 128 * 1024};

/// Measures one setting at a time, each after a ramp.
class Gauge {
 public:
  Gauge(IoDisk& disk, Duration time) : disk_(disk), time_(time) {}

  Result<GridCell> measure(Knobs knobs) {
    if (const auto ramp = disk_.run(knobs, time_ / 5); !ramp.ok()) return ramp.status();
    const Result<Window> window = disk_.run(knobs, time_);
    if (!window.ok()) return window.status();
    return GridCell{knobs, rate_of(*window), seconds(window->p95_latency)};
  }

 private:
  IoDisk& disk_;
  Duration time_;
};

Status tune_disk(IoDisk& disk, input::Tuner& tuner) {
  for (std::uint32_t i = 0; !tuner.settled() && i < kMostWindows; ++i) {
    const Result<Window> window = disk.run(tuner.knobs(), tuner.window());
    if (!window.ok()) return window.status();
    tuner.measured(disk.now(), *window);
  }
  return {};
}

// Rates are normalised to the median speed of the disk.
Result<std::vector<GridCell>> measure_grid(Gauge& gauge, const TunerLimits& limits,
                                           std::uint32_t repeats) {
  const input::Grid grid(limits);
  std::vector<GridCell> cells;
  std::vector<double> references;
  for (int depth = 0; depth < grid.depths(); ++depth) {
    for (int size = 0; size < grid.sizes(); ++size) {
      if (!grid.permits({depth, size})) continue;
      std::vector<double> shares;
      GridCell cell;
      for (std::uint32_t i = 0; i < repeats; ++i) {
        const Result<GridCell> reference = gauge.measure(limits.first);
        if (!reference.ok()) return reference.status();
        const Result<GridCell> measured = gauge.measure(grid.knobs({depth, size}));
        if (!measured.ok()) return measured.status();
        cell = *measured;
        references.push_back(reference->bytes_per_s);
        shares.push_back(measured->bytes_per_s / std::max(reference->bytes_per_s, 1.0));
      }
      cell.bytes_per_s = median_of(shares);
      cells.push_back(cell);
    }
  }
  const double usual = median_of(references);
  for (GridCell& cell : cells) cell.bytes_per_s *= usual;
  return cells;
}

/// The compared rates, by round.
struct Turns {
  std::vector<double> tuned;
  std::vector<double> best;
  std::vector<double> plain;
  double p95_s = 0;
};

Result<Turns> take_turns(Gauge& gauge, Knobs tuned, Knobs best) {
  Turns turns;
  for (int round = 0; round < kRounds; ++round) {
    const std::pair<Knobs, std::vector<double>*> each[] = {
        {tuned, &turns.tuned}, {best, &turns.best}, {kDefault, &turns.plain}};
    for (const auto& [knobs, rates] : each) {
      const Result<GridCell> cell = gauge.measure(knobs);
      if (!cell.ok()) return cell.status();
      rates->push_back(cell->bytes_per_s);
      if (rates == &turns.tuned) turns.p95_s = std::max(turns.p95_s, cell->p95_s);
    }
  }
  return turns;
}

}  // namespace

Status run_io_real(const IoSettings& io, Output& output) {
  Result<IoDisk> opened = IoDisk::open(io.path, io.pattern);
  if (!opened.ok()) return opened.status();
  const auto time = duration_of(io.seconds);
  TunerLimits limits;
  limits.window = time;
  input::Tuner tuner(limits);
  if (Status status = tune_disk(*opened, tuner); !status.ok()) return status;
  Gauge gauge(*opened, time);
  const Result<std::vector<GridCell>> grid = measure_grid(gauge, limits, io.repeats);
  if (!grid.ok()) return grid.status();
  const Knobs best = best_of(*grid, limits).knobs;
  const Result<Turns> turns = take_turns(gauge, tuner.chosen(), best);
  if (!turns.ok()) return turns.status();
  output.title(fmt::format("io: {} of {} files, {:.1f} GB, by {}, past the page cache",
                           name_of(io.pattern), opened->files(),
                           static_cast<double>(opened->bytes()) / 1e9, opened->method()));
  output.columns({"depth", "read_bytes", "gb_per_s", "p95_ms", "probes", "best_grid_gb_per_s",
                  "ratio_to_best", "default_gb_per_s"});
  Record record;
  record.text("name", "io")
      .text("device", "real")
      .text("pattern", name_of(io.pattern))
      .text("method", opened->method())
      .count("depth", tuner.chosen().depth)
      .count("read_bytes", tuner.chosen().read_bytes)
      .real("gb_per_s", median_of(turns->tuned) / 1e9)
      .real("p95_ms", 1e3 * turns->p95_s)
      .count("probes", tuner.probes())
      .real("best_grid_gb_per_s", median_of(turns->best) / 1e9)
      .real("ratio_to_best", median_of(turns->tuned) / median_of(turns->best))
      .count("best_depth", best.depth)
      .count("best_read_bytes", best.read_bytes)
      .real("default_gb_per_s", median_of(turns->plain) / 1e9);
  output.row(record);
  return {};
}

}  // namespace stretto::bench::experiments

// SPDX-License-Identifier: Apache-2.0
// Runs the tuner on a modelled device, one measurement window at a time. Measures the long-run rate
// of every grid setting.
#include "experiments/io/io_tuning.h"

#include <algorithm>

#include "common/clock.h"
#include "input/tuning/grid.h"

namespace stretto::bench::experiments {
namespace {

using input::Grid;
using input::Knobs;
using input::TunerLimits;
using input::Window;

constexpr std::uint32_t kMostTunerWindows = 5000;
constexpr std::size_t kRequestsAtLeast = 500;

/// One reader of a device.
class Reading {
 public:
  Reading(const DeviceModel& model, std::uint64_t seed) : device_(model, seed) {}

  Window run(Knobs knobs, Duration time) {
    device_.set_client(0, {.knobs = knobs});
    return device_.run(time).front();
  }
  Time now() const { return device_.now(); }

 private:
  IoDevice device_;
};

}  // namespace

double rate_of(const Window& window) {
  return static_cast<double>(window.delivered_bytes) / seconds(window.length);
}

GridCell long_run(const DeviceModel& model, Knobs knobs) {
  DeviceModel steady = model;
  steady.wander = 0;
  Reading reading(steady, 1);
  Duration time = 10ms;
  Window window = reading.run(knobs, time);
  const std::size_t wanted = std::max<std::size_t>(kRequestsAtLeast, 6 * knobs.depth);
  while (window.requests < 3 * knobs.depth) window = reading.run(knobs, time *= 2);
  while (window.requests < wanted) window = reading.run(knobs, time *= 2);
  return {knobs, rate_of(window), seconds(window.p95_latency)};
}

std::vector<GridCell> exhaustive_grid(const DeviceModel& model, const TunerLimits& limits) {
  const Grid grid(limits);
  std::vector<GridCell> cells;
  for (int depth = 0; depth < grid.depths(); ++depth) {
    for (int size = 0; size < grid.sizes(); ++size) {
      if (grid.permits({depth, size})) cells.push_back(long_run(model, grid.knobs({depth, size})));
    }
  }
  return cells;
}

GridCell best_of(const std::vector<GridCell>& grid, const TunerLimits& limits) {
  GridCell best;
  for (const GridCell& cell : grid) {
    const bool fast_enough =
        limits.p95_latency == Duration::max() || cell.p95_s <= seconds(limits.p95_latency);
    if (fast_enough && cell.bytes_per_s > best.bytes_per_s) best = cell;
  }
  return best;
}

Tuned tune(const DeviceModel& model, const TunerLimits& limits, std::uint64_t seed) {
  Reading reading(model, seed);
  input::Tuner tuner(limits);
  for (std::uint32_t i = 0; !tuner.settled() && i < kMostTunerWindows; ++i) {
    const Window window = reading.run(tuner.knobs(), tuner.window());
    tuner.measured(reading.now(), window);
  }
  return {tuner.chosen(), tuner.probes()};
}

}  // namespace stretto::bench::experiments

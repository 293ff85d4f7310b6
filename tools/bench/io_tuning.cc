// SPDX-License-Identifier: Apache-2.0
// Ways of tuning, on a device that is asked by windows.
#include "tools/bench/io_tuning.h"

#include <algorithm>
#include <map>
#include <random>
#include <tuple>

#include "common/clock.h"
#include "worker/input/grid.h"

namespace stretto::bench {
namespace {

using input::Grid;
using input::Knobs;
using input::Point;
using input::Tuner;
using input::TunerLimits;
using input::Window;

constexpr std::uint32_t kMostTunerWindows = 5000;
constexpr std::uint32_t kWindowsBeforeChange = 60;
constexpr std::uint32_t kWindowsAfterChange = 90;
constexpr std::size_t kRequestsAtLeast = 500;

/// One reader of a device.
class Reading {
 public:
  Reading(const DeviceModel& model, std::uint64_t seed) : device_(model, seed) {}

  Window run(Knobs knobs, Duration time) {
    device_.set_client(0, {.knobs = knobs});
    return device_.run(time).front();
  }
  IoDevice& device() { return device_; }

  /// As the tuner does it: a ramp, and the median of three windows of its lengths.
  double measure(Knobs knobs, Duration window) {
    Window seen = run(knobs, window);
    while (seen.requests < 8) seen = run(knobs, window *= 2);
    const double latency = seconds(seen.mean_latency);
    window = std::max(
        window, std::chrono::duration_cast<Duration>(std::chrono::duration<double>(8 * latency)));
    std::vector<double> rates;
    for (int i = 0; i < 3; ++i) rates.push_back(rate_of(run(knobs, window)));
    windows += 4;
    std::sort(rates.begin(), rates.end());
    return rates[1];
  }
  std::uint32_t windows = 0;

 private:
  IoDevice device_;
};

Tuned tune_by_tuner(Reading& reading, const TunerLimits& limits) {
  Tuner tuner(limits);
  std::uint32_t windows = 0;
  for (; !tuner.settled() && windows < kMostTunerWindows; ++windows) {
    const Window window = reading.run(tuner.knobs(), tuner.window());
    tuner.measured(reading.device().now(), window);
  }
  return {.knobs = tuner.chosen(),
          .probes = tuner.probes(),
          .windows = windows,
          .seconds = seconds(reading.device().now() - Time()),
          .trials = {tuner.trials().begin(), tuner.trials().end()}};
}

Tuned tune_at_random(Reading& reading, const TunerLimits& limits, std::uint64_t seed) {
  const Grid grid(limits);
  std::vector<Point> points;
  for (int depth = 0; depth < grid.depths(); ++depth) {
    for (int size = 0; size < grid.sizes(); ++size) {
      if (grid.permits({depth, size})) points.push_back({depth, size});
    }
  }
  std::mt19937_64 random(seed);
  std::shuffle(points.begin(), points.end(), random);
  std::iter_swap(points.begin(), std::find(points.begin(), points.end(), grid.first()));
  points.resize(std::min<std::size_t>(points.size(), limits.probes));
  Tuned tuned;
  double best = 0;
  for (const Point point : points) {
    const double rate = reading.measure(grid.knobs(point), limits.window);
    if (rate > best) {
      best = rate;
      tuned.knobs = grid.knobs(point);
    }
    ++tuned.probes;
  }
  return tuned;
}

Tuned tune_like_tf_data(Reading& reading, const TunerLimits& limits) {
  const Grid grid(limits);
  Point at = grid.first();
  double best = reading.measure(grid.knobs(at), limits.window);
  Tuned tuned;
  tuned.probes = 1;
  bool gains = true;
  while (gains) {
    gains = false;
    const Point from = at;
    for (const input::Step step : {input::Step{1, 0}, input::Step{0, 1}}) {
      const Point next = from + step;
      if (!grid.permits(next) || tuned.probes == limits.probes) continue;
      const double rate = reading.measure(grid.knobs(next), limits.window);
      ++tuned.probes;
      if (rate <= best) continue;
      best = rate;
      at = next;
      gains = true;
    }
  }
  tuned.knobs = grid.knobs(at);
  return tuned;
}

std::uint32_t searches_in(const Tuner& tuner) {
  const auto trials = tuner.trials();
  return static_cast<std::uint32_t>(std::count_if(
      trials.begin(), trials.end(),
      [](const input::Trial& trial) { return trial.action == input::Action::kDrift; }));
}

struct BySetting {
  bool operator()(const Knobs& a, const Knobs& b) const {
    return std::tie(a.depth, a.read_bytes) < std::tie(b.depth, b.read_bytes);
  }
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

std::vector<std::string_view> ways_of_tuning() {
  return {"tuner", "start", "default", "random", "tf_data"};
}

Tuned tune(std::string_view way, const DeviceModel& model, const TunerLimits& limits,
           std::uint64_t seed) {
  Tuned tuned;
  tuned.knobs = {1, 128 * 1024};
  if (way == "default") return tuned;
  tuned.knobs = Grid(limits).knobs(Grid(limits).first());
  if (way == "start") return tuned;
  Reading reading(model, seed);
  if (way == "tuner") return tune_by_tuner(reading, limits);
  if (way == "random") tuned = tune_at_random(reading, limits, seed);
  if (way == "tf_data") tuned = tune_like_tf_data(reading, limits);
  tuned.windows = reading.windows;
  tuned.seconds = seconds(reading.device().now() - Time());
  return tuned;
}

Retuning retune(const DeviceModel& before, const DeviceModel& after, double new_best,
                const TunerLimits& limits, std::uint64_t seed) {
  Reading reading(before, seed);
  Tuner tuner(limits);
  const auto step = [&] {
    const Knobs under = tuner.knobs();
    const Window window = reading.run(under, tuner.window());
    tuner.measured(reading.device().now(), window);
    return tuner.knobs() == under;  // Else a ramp follows, which belongs to the next window.
  };
  for (std::uint32_t i = 0; !tuner.settled() && i < kMostTunerWindows; ++i) step();
  for (std::uint32_t i = 0; i < kWindowsBeforeChange || !tuner.settled(); ++i) step();
  Retuning result;
  result.before = tuner.chosen();
  result.false_searches = searches_in(tuner);
  reading.device().become(after);
  std::uint32_t windows = 0;
  std::map<Knobs, bool, BySetting> good;
  while (windows < kWindowsAfterChange) {
    const bool was_settled = tuner.settled();
    if (step()) ++windows;
    const Knobs knobs = tuner.chosen();
    if (good.count(knobs) == 0) {
      good[knobs] = long_run(after, knobs).bytes_per_s >= 0.95 * new_best;
    }
    if (!good[knobs]) result.windows = windows + 1;
    if (!was_settled && tuner.settled() && result.windows_to_settle == 0) {
      result.windows_to_settle = windows;
    }
  }
  result.after = tuner.chosen();
  result.trials.assign(tuner.trials().begin(), tuner.trials().end());
  return result;
}

}  // namespace stretto::bench

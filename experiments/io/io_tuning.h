// SPDX-License-Identifier: Apache-2.0
// Tuning of modelled devices: every setting of the grid measured without noise, which gives the
// optimum, and the tuner on the same device with noise. Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "experiments/io/io_device.h"
#include "input/tuning/tuner.h"

namespace stretto::bench::experiments {

/// A setting and its long-run rate.
struct GridCell {
  input::Knobs knobs{};
  double bytes_per_s = 0;
  double p95_s = 0;
};

/// Delivered bytes per second.
double rate_of(const input::Window& window);

/// The long-run rate of a setting; the device's speed does not wander meanwhile.
GridCell long_run(const DeviceModel& model, input::Knobs knobs);
/// All settings that the limits permit, in order of depth and then of size.
std::vector<GridCell> exhaustive_grid(const DeviceModel& model, const input::TunerLimits& limits);
/// The fastest setting whose latency is within the limits; a cell of zeros if there is none.
GridCell best_of(const std::vector<GridCell>& grid, const input::TunerLimits& limits);

/// The tuner's result for one seed, and the number of settings it measured.
struct Tuned {
  input::Knobs knobs{};
  std::uint32_t probes = 0;
};
Tuned tune(const DeviceModel& model, const input::TunerLimits& limits, std::uint64_t seed);

}  // namespace stretto::bench::experiments

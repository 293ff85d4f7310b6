// SPDX-License-Identifier: Apache-2.0
// Tuning of modelled devices: every setting of the grid measured without noise, so that the best is
// known; and the tuner on the same device with noise. Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "experiments/io/io_device.h"
#include "input/tuning/tuner.h"

namespace stretto::bench::experiments {

/// One setting, and what it brings in the long run.
struct GridCell {
  input::Knobs knobs{};
  double bytes_per_s = 0;
  double p95_s = 0;
};

/// Bytes a second that were delivered.
double rate_of(const input::Window& window);

/// What one setting brings in the long run; the device's speed does not wander meanwhile.
GridCell long_run(const DeviceModel& model, input::Knobs knobs);
/// All settings that the limits permit, in order of depth and then of size.
std::vector<GridCell> exhaustive_grid(const DeviceModel& model, const input::TunerLimits& limits);
/// The fastest of them whose requests are as fast as the limits ask; of nothing, a cell of zeros.
GridCell best_of(const std::vector<GridCell>& grid, const input::TunerLimits& limits);

/// What the tuner came to from one seed, and how many settings it measured.
struct Tuned {
  input::Knobs knobs{};
  std::uint32_t probes = 0;
};
Tuned tune(const DeviceModel& model, const input::TunerLimits& limits, std::uint64_t seed);

}  // namespace stretto::bench::experiments

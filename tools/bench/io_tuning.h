// SPDX-License-Identifier: Apache-2.0
// Tuning of modelled devices: every setting of the grid measured without noise, so that the best is
// known; the tuner, and what it is compared with, on the same device with noise. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tools/bench/io_device.h"
#include "worker/input/tuner.h"

namespace stretto::bench {

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

/// What a way of tuning came to.
struct Tuned {
  input::Knobs knobs{};
  std::uint32_t probes = 0;
  std::uint32_t windows = 0;
  double seconds = 0;
  std::vector<input::Trial> trials;  ///< Of the tuner itself.
};

/// Ways to come to a setting. "start": where the tuner begins, kept; "default": depth 1 and reads
/// of 128 KiB, kept. The others begin where the tuner begins and measure as many settings as it
/// may: "random": the best of that and of random ones; "tf_data": each time a doubling of depth and
/// one of size, and what gained is kept, until neither gains (as tf.data's hill climbing goes, over
/// two parameters).
std::vector<std::string_view> ways_of_tuning();
Tuned tune(std::string_view way, const DeviceModel& model, const input::TunerLimits& limits,
           std::uint64_t seed);

/// The tuner on a device that becomes another one, whose best is `new_best` bytes a second, after
/// it has settled.
struct Retuning {
  input::Knobs before{};
  input::Knobs after{};
  /// Windows, each with the ramp that precedes it, from the change until the best that the tuner
  /// knows brings at least 95 % of the new best, for good; and until it has settled again.
  std::uint32_t windows = 0;
  std::uint32_t windows_to_settle = 0;
  std::uint32_t false_searches = 0;  ///< In 60 windows before the change.
  std::vector<input::Trial> trials;
};
Retuning retune(const DeviceModel& before, const DeviceModel& after, double new_best,
                const input::TunerLimits& limits, std::uint64_t seed);

}  // namespace stretto::bench

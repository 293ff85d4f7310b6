// SPDX-License-Identifier: Apache-2.0
// The kinds of modelled devices. The numbers have realistic magnitudes, but are not measurements.
#include <fmt/core.h>

#include <array>
#include <cmath>
#include <random>

#include "experiments/io/io_device.h"
#include "tools/bench/support/flags.h"

namespace stretto::bench::experiments {
namespace {

constexpr std::uint64_t kKiB = 1024;

constexpr std::array kModels{
    // Flash behind a slow link: 10 dies; a request uses one die for each 64 KiB.
    DeviceModel{.name = "sata",
                .channels = 10,
                .piece_bytes = 64 * kKiB,
                .piece_s = 90e-6,
                .channel_bytes_per_s = 150e6,
                .link_bytes_per_s = 540e6,
                .jitter = 0.1},
    // Flash behind a fast link: many dies, so it needs a high depth.
    DeviceModel{.name = "nvme",
                .channels = 128,
                .piece_bytes = 32 * kKiB,
                .piece_s = 80e-6,
                .channel_bytes_per_s = 40e6,
                .link_bytes_per_s = 3.2e9,
                .jitter = 0.1},
    // A remote file system: only bytes in flight fill the link.
    DeviceModel{.name = "network",
                .channels = 64,
                .piece_s = 1e-3,
                .channel_bytes_per_s = 200e6,
                .link_bytes_per_s = 1.2e9,
                .round_trip_s = 20e-3,
                .jitter = 0.2},
    // A disk: each request moves the arm, so only larger requests help.
    DeviceModel{.name = "one_channel",
                .piece_s = 6e-3,
                .channel_bytes_per_s = 180e6,
                .link_bytes_per_s = 600e6,
                .jitter = 0.15},
    // Shared storage: like nvme, with load from other users.
    DeviceModel{.name = "noisy",
                .channels = 64,
                .piece_bytes = 64 * kKiB,
                .piece_s = 200e-6,
                .channel_bytes_per_s = 60e6,
                .link_bytes_per_s = 1.5e9,
                .jitter = 0.4,
                .spike_share = 0.002,
                .spike_s = 20e-3,
                .wander = 0.12},
    // A file server that slows down under many requests.
    DeviceModel{.name = "saturating",
                .channels = 16,
                .piece_s = 1.5e-3,
                .channel_bytes_per_s = 60e6,
                .link_bytes_per_s = 2e9,
                .round_trip_s = 1e-3,
                .jitter = 0.2,
                .comfortable = 24,
                .crowding = 0.5},
    // A cloud volume: a long round trip, few requests a second, and a provisioned rate.
    DeviceModel{.name = "cloud",
                .channels = 8,
                .piece_bytes = 256 * kKiB,
                .piece_s = 1.5e-3,
                .channel_bytes_per_s = 250e6,
                .link_bytes_per_s = 400e6,
                .round_trip_s = 2e-3,
                .jitter = 0.25,
                .wander = 0.03},
    // A volume on a shared host: fast for some seconds, slow for others.
    DeviceModel{.name = "shared",
                .channels = 12,
                .piece_bytes = 1024 * kKiB,
                .piece_s = 1e-3,
                .channel_bytes_per_s = 300e6,
                .link_bytes_per_s = 2e9,
                .jitter = 0.3,
                .wander = 0.2,
                .wander_s = 2,
                .comfortable = 24,
                .crowding = 0.3}};

}  // namespace

std::span<const DeviceModel> device_models() { return kModels; }

Result<DeviceModel> find_device_model(std::string_view name) {
  std::string names;
  for (const DeviceModel& model : kModels) {
    if (model.name == name) return model;
    names += fmt::format("{}{}", names.empty() ? "" : ", ", model.name);
  }
  return invalid(fmt::format("wanted a kind of device: all, or some of {}", names));
}

DeviceModel varied(const DeviceModel& model, double most, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> exponent(-std::log(most), std::log(most));
  DeviceModel other = model;
  for (double* value : {&other.piece_s, &other.channel_bytes_per_s, &other.link_bytes_per_s,
                        &other.round_trip_s, &other.comfortable}) {
    *value *= std::exp(exponent(random));
  }
  if (model.channels > 1) {
    other.channels = static_cast<std::uint32_t>(
        std::lround(static_cast<double>(model.channels) * std::exp(exponent(random))));
  }
  return other;
}

}  // namespace stretto::bench::experiments

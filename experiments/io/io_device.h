// SPDX-License-Identifier: Apache-2.0
// IoDevice: a fully known storage device model in virtual time: a tuner's result can be compared
// with the optimum. Pure: discrete events from a seed.
//
// A request waits for its client's token bucket, travels half a round trip, and is cut into pieces;
// each takes the channel that is free first, for a fixed time and a time by its size. When all
// have been read the request takes its turn on one link, and travels back. On top of that: jitter
// of each request, rare spikes, a speed that wanders, and service that slows down when too much
// waits.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "input/knobs.h"
#include "stretto/status.h"

namespace stretto::bench::experiments {

struct DeviceModel {
  std::string_view name = "unnamed";
  std::uint32_t channels = 1;
  std::uint64_t piece_bytes = std::uint64_t{1} << 40;
  double piece_s = 0;  ///< Per piece, whatever its size.
  double channel_bytes_per_s = 1e9;
  double link_bytes_per_s = 1e9;
  double round_trip_s = 0;
  double jitter = 0;       ///< Standard deviation of the logarithm of a request's service time.
  double spike_share = 0;  ///< Fraction of requests that take spike_s longer.
  double spike_s = 0;
  double wander = 0;       ///< Standard deviation of the logarithm of the speed,
  double wander_s = 0.05;  ///< redrawn at this interval.
  double comfortable = std::numeric_limits<double>::infinity();  ///< Requests in service;
  double crowding = 0;  ///< twice as many slow service by this fraction.
};

/// "sata", "nvme", "network", "one_channel", "noisy", "saturating", "cloud", "shared".
std::span<const DeviceModel> device_models();
Result<DeviceModel> find_device_model(std::string_view name);
/// The same kind of device, with each rate and time multiplied or divided by up to `most`.
DeviceModel varied(const DeviceModel& model, double most, std::uint64_t seed);

/// A reader: keeps `knobs.depth` requests in flight, unless its consumer wants no data.
struct IoClient {
  static constexpr double kUnlimited = std::numeric_limits<double>::infinity();
  input::Knobs knobs{.depth = 8, .read_bytes = 256 * 1024};
  double demand_bytes_per_s = kUnlimited;  ///< The rate of its consumer.
  double limit_bytes_per_s = kUnlimited;   ///< The rate of its token bucket,
  double burst_bytes = 0;                  ///< and the bucket's size.
};

/// Thread: one at a time.
class IoDevice {
 public:
  IoDevice(const DeviceModel& model, std::uint64_t seed, std::size_t clients = 1);
  ~IoDevice();
  IoDevice(const IoDevice&) = delete;
  IoDevice& operator=(const IoDevice&) = delete;

  /// Changes the model. Requests in flight are served by the old one.
  void become(const DeviceModel& model);
  void set_client(std::size_t index, const IoClient& client);
  const IoClient& client(std::size_t index) const;
  Time now() const;
  /// Advances virtual time; returns what each client observed.
  std::vector<input::Window> run(Duration time);

 private:
  class Simulation;
  std::unique_ptr<Simulation> simulation_;
};

}  // namespace stretto::bench::experiments

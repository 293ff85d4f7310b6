// SPDX-License-Identifier: Apache-2.0
// IoDevice: a modelled storage device in virtual time, of which everything is known: what a tuner
// finds on it can be held against what there is to find. Pure: discrete events from a seed.
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
  double piece_s = 0;  ///< Of each piece, whatever its size.
  double channel_bytes_per_s = 1e9;
  double link_bytes_per_s = 1e9;
  double round_trip_s = 0;
  double jitter = 0;       ///< Standard deviation of the logarithm of a request's service time.
  double spike_share = 0;  ///< Of the requests; each takes spike_s longer.
  double spike_s = 0;
  double wander = 0;       ///< Standard deviation of the logarithm of the speed,
  double wander_s = 0.05;  ///< which is drawn anew so often.
  double comfortable = std::numeric_limits<double>::infinity();  ///< Requests at the device;
  double crowding = 0;  ///< with twice as many service takes so much longer, as a share.
};

/// "sata", "nvme", "network", "one_channel", "noisy", "saturating", "cloud", "shared".
std::span<const DeviceModel> device_models();
Result<DeviceModel> find_device_model(std::string_view name);
/// The same kind of device, but each rate and time multiplied by up to `most` or divided by it.
DeviceModel varied(const DeviceModel& model, double most, std::uint64_t seed);

/// Who reads: keeps so many requests in flight, unless nobody wants the data.
struct IoClient {
  static constexpr double kUnlimited = std::numeric_limits<double>::infinity();
  input::Knobs knobs{.depth = 8, .read_bytes = 256 * 1024};
  double demand_bytes_per_s = kUnlimited;  ///< What its consumer takes.
  double limit_bytes_per_s = kUnlimited;   ///< Of its token bucket,
  double burst_bytes = 0;                  ///< which holds so much.
};

/// Thread: one at a time.
class IoDevice {
 public:
  IoDevice(const DeviceModel& model, std::uint64_t seed, std::size_t clients = 1);
  ~IoDevice();
  IoDevice(const IoDevice&) = delete;
  IoDevice& operator=(const IoDevice&) = delete;

  /// From now on; requests in flight are served as they were.
  void become(const DeviceModel& model);
  void set_client(std::size_t index, const IoClient& client);
  const IoClient& client(std::size_t index) const;
  Time now() const;
  /// Lets time pass; what each client saw in it.
  std::vector<input::Window> run(Duration time);

 private:
  class Simulation;
  std::unique_ptr<Simulation> simulation_;
};

}  // namespace stretto::bench::experiments

// SPDX-License-Identifier: Apache-2.0
// Events by time: a request reaches the device, has been read there, has arrived; a client with
// enough data continues. Channels are first come, first served, so a request's channel time is
// known on arrival.
#include "experiments/io/io_device.h"

#include <algorithm>
#include <cmath>
#include <queue>
#include <random>

#include "tools/bench/support/now.h"

namespace stretto::bench::experiments {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

enum class What : std::uint8_t { kReaches, kIsRead, kArrives, kGoesOn };

struct DeviceEvent {
  double at = 0;
  std::uint64_t order = 0;
  What what = What::kReaches;
  std::size_t client = 0;
  std::uint32_t bytes = 0;
  double issued = 0;
  bool operator>(const DeviceEvent& other) const {
    return at > other.at || (at == other.at && order > other.order);
  }
};

/// A client and its measurements in the window.
struct DeviceReader {
  IoClient client;
  std::uint32_t in_flight = 0;
  std::uint64_t bytes_in_flight = 0;
  double bucket = 0;    // When the used tokens will have been refilled.
  double buffered = 0;  // Bytes that have arrived and that the consumer has not taken.
  double settled = 0;   // The time up to which the consumer is simulated.
  bool rests = false;   // An event will resume it.
  std::uint64_t delivered = 0;
  double stall = 0;
  std::vector<double> latencies;

  // A read-ahead of twice the bytes in flight: enough to absorb bursts.
  double room() const {
    return 2 * static_cast<double>(std::uint64_t{client.knobs.depth} * client.knobs.read_bytes) -
           buffered - static_cast<double>(bytes_in_flight);
  }

  void consume(double now) {
    const double wanted = client.demand_bytes_per_s * (now - settled);
    if (now > settled) {
      stall += wanted > buffered ? (now - settled) * (1 - buffered / wanted) : 0;
      buffered = std::max(buffered - wanted, 0.0);
    }
    settled = now;
  }
};

double quantile_95(std::vector<double>& values) {
  if (values.empty()) return 0;
  const auto index = static_cast<std::ptrdiff_t>(0.95 * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), values.begin() + index, values.end());
  return values[static_cast<std::size_t>(index)];
}

}  // namespace

class IoDevice::Simulation {
 public:
  Simulation(const DeviceModel& model, std::uint64_t seed, std::size_t clients)
      : random_(seed), readers_(clients) {
    become(model);
  }

  void become(const DeviceModel& model) {
    model_ = model;
    free_.resize(model.channels, now_);
    wanders_at_ = now_;
  }

  DeviceReader& reader(std::size_t index) { return readers_[index]; }
  std::size_t clients() const { return readers_.size(); }
  double now() const { return now_; }

  void run_until(double end) {
    for (std::size_t i = 0; i < readers_.size(); ++i) issue(i);
    while (!events_.empty() && events_.top().at <= end) {
      const DeviceEvent event = events_.top();
      events_.pop();
      now_ = event.at;
      handle(event);
    }
    now_ = end;
    for (DeviceReader& reader : readers_) reader.consume(now_);
  }

 private:
  void handle(DeviceEvent event) {
    switch (event.what) {
      case What::kReaches:
        event.what = What::kIsRead;
        event.at = read(event.bytes);
        return add(event);
      case What::kIsRead:
        --at_device_;
        link_free_ = std::max(link_free_, now_) + event.bytes / model_.link_bytes_per_s / speed();
        event.what = What::kArrives;
        event.at = link_free_ + model_.round_trip_s / 2;
        return add(event);
      case What::kArrives:
        arrive(event);
        return issue(event.client);
      case What::kGoesOn:
        readers_[event.client].rests = false;
        return issue(event.client);
    }
  }

  void add(DeviceEvent event) {
    event.order = next_order_++;
    events_.push(event);
  }

  void arrive(const DeviceEvent& event) {
    DeviceReader& reader = readers_[event.client];
    reader.consume(now_);
    --reader.in_flight;
    reader.bytes_in_flight -= event.bytes;
    reader.delivered += event.bytes;
    if (reader.client.demand_bytes_per_s != kNever) reader.buffered += event.bytes;
    reader.latencies.push_back(now_ - event.issued);
  }

  void issue(std::size_t index) {
    DeviceReader& reader = readers_[index];
    const std::uint32_t bytes = reader.client.knobs.read_bytes;
    const bool limited = reader.client.demand_bytes_per_s != kNever;
    if (limited) reader.consume(now_);
    while (reader.in_flight < reader.client.knobs.depth) {
      if (limited && reader.room() < bytes) return rest(index, bytes - reader.room());
      ++reader.in_flight;
      reader.bytes_in_flight += bytes;
      add({.at = admitted(reader, bytes) + model_.round_trip_s / 2,
           .what = What::kReaches,
           .client = index,
           .bytes = bytes,
           .issued = now_});
    }
  }

  // Waits until the consumer has made room; an arrival may be sooner.
  void rest(std::size_t index, double bytes) {
    DeviceReader& reader = readers_[index];
    if (reader.rests) return;
    reader.rests = true;
    add({.at = now_ + std::max(bytes / reader.client.demand_bytes_per_s, 1e-6),
         .what = What::kGoesOn,
         .client = index});
  }

  double admitted(DeviceReader& reader, std::uint32_t bytes) const {
    if (reader.client.limit_bytes_per_s == kNever) return now_;
    const double rate = reader.client.limit_bytes_per_s;
    reader.bucket = std::max(reader.bucket, now_) + bytes / rate;
    return std::max(now_, reader.bucket - reader.client.burst_bytes / rate);
  }

  // The time at which all pieces will have been read.
  double read(std::uint32_t bytes) {
    ++at_device_;
    const double crowd = std::max(at_device_ / model_.comfortable - 1, 0.0);
    double slowness = (1 + model_.crowding * crowd) / speed();
    if (model_.jitter > 0) slowness *= std::exp(model_.jitter * normal_(random_));
    const std::uint64_t pieces = (bytes + model_.piece_bytes - 1) / model_.piece_bytes;
    const auto count = static_cast<double>(pieces);
    // More pieces than channels take several rounds over all channels.
    const std::uint64_t used = std::min<std::uint64_t>(pieces, free_.size());
    const double rounds = count / static_cast<double>(used);
    const double service =
        slowness * rounds * (model_.piece_s + bytes / count / model_.channel_bytes_per_s);
    double end = now_;
    for (std::uint64_t i = 0; i < used; ++i) {
      double& free = *std::min_element(free_.begin(), free_.end());
      free = std::max(free, now_) + service;
      end = std::max(end, free);
    }
    const bool spike = model_.spike_share > 0 && uniform_(random_) < model_.spike_share;
    return end + (spike ? model_.spike_s : 0);
  }

  double speed() {
    if (model_.wander <= 0) return 1;
    while (now_ >= wanders_at_) {
      speed_ = std::exp(model_.wander * normal_(random_));
      wanders_at_ += model_.wander_s;
    }
    return speed_;
  }

  DeviceModel model_;
  std::mt19937_64 random_;
  std::normal_distribution<double> normal_;
  std::uniform_real_distribution<double> uniform_;
  std::vector<DeviceReader> readers_;
  std::priority_queue<DeviceEvent, std::vector<DeviceEvent>, std::greater<>> events_;
  std::vector<double> free_;  // The time at which each channel is free.
  double link_free_ = 0;
  double at_device_ = 0;
  double now_ = 0;
  double speed_ = 1;
  double wanders_at_ = 0;
  std::uint64_t next_order_ = 0;
};

IoDevice::IoDevice(const DeviceModel& model, std::uint64_t seed, std::size_t clients)
    : simulation_(std::make_unique<Simulation>(model, seed, clients)) {}
IoDevice::~IoDevice() = default;

void IoDevice::become(const DeviceModel& model) { simulation_->become(model); }

void IoDevice::set_client(std::size_t index, const IoClient& client) {
  DeviceReader& reader = simulation_->reader(index);
  reader.consume(simulation_->now());
  if (client.demand_bytes_per_s == IoClient::kUnlimited) reader.buffered = 0;
  reader.client = client;
}

const IoClient& IoDevice::client(std::size_t index) const {
  return simulation_->reader(index).client;
}

Time IoDevice::now() const { return Time() + duration_of(simulation_->now()); }

std::vector<input::Window> IoDevice::run(Duration time) {
  simulation_->run_until(simulation_->now() + seconds(time));
  std::vector<input::Window> windows;
  const auto count = simulation_->clients();
  for (std::size_t i = 0; i < count; ++i) {
    DeviceReader& reader = simulation_->reader(i);
    double sum = 0;
    for (const double latency : reader.latencies) sum += latency;
    const std::size_t requests = reader.latencies.size();
    windows.push_back(
        {.length = time,
         .delivered_bytes = reader.delivered,
         .p95_latency = duration_of(quantile_95(reader.latencies)),
         .mean_latency = duration_of(requests > 0 ? sum / static_cast<double>(requests) : 0),
         .consumer_stall = duration_of(reader.stall),
         .requests = requests});
    reader.latencies.clear();
    reader.delivered = 0;
    reader.stall = 0;
  }
  return windows;
}

}  // namespace stretto::bench::experiments

// SPDX-License-Identifier: Apache-2.0
// LimitedBackend: a backend behind a modelled device of a given rate, which serves reads one after
// another in the order of requests: data is delivered when the device would have read it. Readers
// of several processes may share a device, in proportion to their bytes in flight.
#pragma once

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "common/clock.h"
#include "input/io/backend.h"

namespace stretto::input::testing {

/// Thread: any. Outlives its backends.
struct ModelledDevice {
  std::atomic<double> bytes_per_s{1e12};
  std::atomic<std::uint32_t> most_in_flight{0};
  std::int64_t own_free_at = 0;
  /// When all reads so far end; for a device shared by processes, in shared memory.
  std::int64_t* free_at = &own_free_at;

  /// When a read that is requested now will end.
  Time turn(std::size_t bytes, Time now) {
    const double seconds = static_cast<double>(bytes) / bytes_per_s.load();
    const auto time = std::chrono::duration_cast<Duration>(std::chrono::duration<double>(seconds));
    const std::int64_t now_ns = now.time_since_epoch().count();
    const std::atomic_ref<std::int64_t> free(*free_at);
    std::int64_t before = free.load();
    while (!free.compare_exchange_weak(before, std::max(before, now_ns) + time.count())) continue;
    return Time(Duration(std::max(before, now_ns)) + time);
  }
};

/// Thread: loop, as a Backend.
class LimitedBackend final : public Backend {
 public:
  LimitedBackend(std::unique_ptr<Backend> inner, ModelledDevice& device)
      : inner_(std::move(inner)), device_(device) {}

  std::string_view name() const override { return inner_->name(); }
  void submit(ReadRequest request) override {
    turns_[request.tag] = device_.turn(request.into.size(), clock_.now());
    const auto count = static_cast<std::uint32_t>(turns_.size() + read_.size());
    device_.most_in_flight.store(std::max(count, device_.most_in_flight.load()));
    inner_->submit(std::move(request));
  }
  void wait(Time deadline, std::vector<Done>& done) override {
    const Time turn = read_.empty() ? Time::max() : read_.begin()->first;
    std::vector<Done> fresh;
    if (turn > clock_.now()) inner_->wait(std::min(deadline, turn), fresh);
    for (const Done& one : fresh) {
      read_.emplace(turns_.at(one.tag), one);
      turns_.erase(one.tag);
    }
    while (!read_.empty() && read_.begin()->first <= clock_.now()) {
      done.push_back(read_.begin()->second);
      read_.erase(read_.begin());
    }
  }
  void wake() override { inner_->wake(); }

 private:
  SteadyClock clock_;
  std::unique_ptr<Backend> inner_;
  ModelledDevice& device_;
  std::unordered_map<std::uint64_t, Time> turns_;  // Of reads in progress,
  std::multimap<Time, Done> read_;                 // and completed reads that wait for their time.
};

}  // namespace stretto::input::testing

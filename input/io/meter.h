// SPDX-License-Identifier: Apache-2.0
// Meter: measurements of a reader for the user and the tuners, since each one's last query.
#pragma once

#include <algorithm>
#include <array>
#include <memory>

#include "common/input_account.h"
#include "common/mutex.h"
#include "input/io/latency.h"
#include "input/knobs.h"

namespace stretto::input {

/// Thread: any. One mutex; the consumer's counters per sample need none.
class Meter {
 public:
  /// Each asker has separate windows.
  enum Asker : std::size_t { kUser, kTuner, kDecoders, kAskers };

  /// Counts are also visible in `feed`.
  explicit Meter(Time now, std::shared_ptr<InputFeed> feed = std::make_shared<InputFeed>())
      : feed_(std::move(feed)) {
    for (Span& span : spans_) span.begun = now;
  }

  InputFeed& feed() { return *feed_; }

  void request(Duration latency) {
    feed_->requested(latency);
    MutexLock lock(mutex_);
    for (Span& span : spans_) span.latencies.add(latency);
  }
  /// Called by the consumer: bytes taken, start and end of a wait.
  void delivered(std::uint64_t bytes) { feed_->delivered(bytes); }
  void waits(Time now) { feed_->waits(now); }
  void goes_on(Time now) { feed_->goes_on(now); }

  Window take(Asker asker, Time now) {
    MutexLock lock(mutex_);
    Span& span = spans_[asker];
    const std::uint64_t bytes = feed_->delivered_bytes();
    const Duration stall = std::max(feed_->stall(now), span.stall);
    const Window window{.length = now - span.begun,
                        .delivered_bytes = bytes - span.bytes,
                        .p95_latency = span.latencies.percentile(0.95),
                        .mean_latency = span.latencies.mean(),
                        .consumer_stall = stall - span.stall,
                        .requests = span.latencies.count()};
    span = {.latencies = {}, .begun = now, .bytes = bytes, .stall = stall};
    return window;
  }

 private:
  struct Span {
    Latencies latencies;
    Time begun;
    std::uint64_t bytes = 0;  // At its start.
    Duration stall{};
  };

  const std::shared_ptr<InputFeed> feed_;
  Mutex mutex_;
  std::array<Span, kAskers> spans_ GUARDED_BY(mutex_);
};

}  // namespace stretto::input

// SPDX-License-Identifier: Apache-2.0
// Whenever the pool becomes busy or idle, attributes the consumer's stall so far to the stage that
// it waited for.
#include "input/tuning/pool_tuning.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "input/io/decode_pool.h"

namespace stretto::input {
namespace {

constexpr std::uint32_t kForEachProcessor = 2;  // Decoding threads may wait, too.

std::uint32_t most_threads(std::uint32_t first) {
  const std::uint32_t most = kForEachProcessor * std::max(std::thread::hardware_concurrency(), 1U);
  return std::clamp(most, first, kMostDecoders);
}

}  // namespace

PoolTuning::PoolTuning(const Options& options, Meter& meter)
    : meter_(meter),
      threads_(std::clamp(options.decode_threads, 1U, kMostDecoders)),
      tuned_(options.tune && options.decode),
      tuner_(threads_, most_threads(threads_)) {}

void PoolTuning::set_threads(std::uint32_t threads) {
  MutexLock lock(mutex_);  // The tuner may change `threads_` meanwhile.
  tuned_.store(false);
  threads_.store(std::clamp(threads, 1U, kMostDecoders));
}

void PoolTuning::begin(Time now) {
  (void)meter_.take(Meter::kDecoders, now);
  busy_ = false;
  stall_ = stall_for_reads_ = {};
  latencies_ = {};
  begun_ = now;
  MutexLock lock(mutex_);
  turn(now);
}

// Applies the tuner's choice until the window's end, unless the user has set the number.
void PoolTuning::turn(Time now) {
  if (!tuned_.load()) return;
  threads_.store(tuner_.threads());
  end_ = now + tuner_.window();
}

void PoolTuning::count_stall(Time now) {
  const Window window = meter_.take(Meter::kDecoders, now);
  if (!busy_) return;
  stall_ += window.consumer_stall;
  stall_for_reads_ += window.consumer_stall;
}

void PoolTuning::busy(Time now, bool is) {
  count_stall(now);
  busy_ = is;
}

Duration PoolTuning::take_stall(Time now) {
  count_stall(now);
  return std::exchange(stall_for_reads_, {});
}

void PoolTuning::step(Time now) {
  if (now < due()) return;
  count_stall(now);
  const Latencies latencies = std::exchange(latencies_, {});
  const Window window{.length = now - std::exchange(begun_, now),
                      .delivered_bytes = latencies.count(),  // Counted in samples.
                      .p95_latency = latencies.percentile(0.95),
                      .mean_latency = latencies.mean(),
                      .consumer_stall = std::exchange(stall_, {}),
                      .requests = latencies.count()};
  MutexLock lock(mutex_);
  tuner_.measured(now, window);
  turn(now);
}

std::string PoolTuning::log() {
  MutexLock lock(mutex_);
  std::string lines;
  for (const Trial& trial : tuner_.trials()) lines += describe_pool(trial, trial.knobs.depth);
  return lines;
}

}  // namespace stretto::input

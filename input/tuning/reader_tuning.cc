// SPDX-License-Identifier: Apache-2.0
// The tuner decides; this measures for it and does what it says.
#include "input/tuning/reader_tuning.h"

#include <algorithm>
#include <bit>

namespace stretto::input {

TunerLimits limits_for(const Options& options, const Index& index) {
  TunerLimits limits;
  std::uint64_t together = limits.most.read_bytes;
  if (options.format == Format::kFiles) {
    together = 1;
    for (const Index::File& file : index.files()) together = std::max(together, file.bytes);
  } else if (options.shuffle) {
    const std::uint64_t mean = index.samples() == 0 ? 0 : index.bytes() / index.samples();
    together = std::max(options.shuffle_block_bytes, mean);
  }
  together = std::clamp<std::uint64_t>(together, limits.least.read_bytes, limits.most.read_bytes);
  limits.most.read_bytes = std::bit_ceil(static_cast<std::uint32_t>(together));
  limits.memory_bytes = std::max<std::uint64_t>(options.memory_bytes / 2, limits.least.read_bytes);
  limits.first = {std::clamp(options.depth, limits.least.depth, limits.most.depth),
                  std::clamp(options.read_bytes, limits.least.read_bytes, limits.most.read_bytes)};
  return limits;
}

ReaderTuning::ReaderTuning(const TunerLimits& limits, Controls& controls, Meter& meter)
    : controls_(controls), meter_(meter), end_(Time::max()), tuner_(limits) {}

Time ReaderTuning::due() const { return controls_.tuned.load() ? end_ : Time::max(); }

void ReaderTuning::begin(Time now) {
  if (!controls_.tuned.load()) return;
  (void)meter_.take(Meter::kTuner, now);
  MutexLock lock(mutex_);
  turn(now);
}

void ReaderTuning::step(Time now, Duration for_others) {
  if (now < due()) return;
  Window window = meter_.take(Meter::kTuner, now);
  window.consumer_stall -= std::min(window.consumer_stall, for_others);
  MutexLock lock(mutex_);
  tuner_.measured(now, window);
  turn(now);
}

void ReaderTuning::obey(Time now) {
  InputFeed& feed = meter_.feed();
  const bool tuned = controls_.tuned.load();
  if (!tuned) feed.wants(bytes_in_flight(controls_.turned()), controls_.turned().read_bytes);
  const std::uint64_t limit = feed.limit_bytes();
  if (limit == limit_bytes_) return;
  limit_bytes_ = limit;
  controls_.limit_bytes.store(limit);
  if (!tuned) return;
  (void)meter_.take(Meter::kTuner, now);  // Two settings in one window would tell nothing.
  MutexLock lock(mutex_);
  tuner_.set_cap(now, limit);
  turn(now);
}

// What the tuner says now, until the window's end.
void ReaderTuning::turn(Time now) {
  const Knobs wanted = tuner_.chosen();
  meter_.feed().wants(bytes_in_flight(wanted), wanted.read_bytes);
  controls_.tune(tuner_.knobs());
  end_ = now + tuner_.window();
}

std::string ReaderTuning::log() {
  MutexLock lock(mutex_);
  std::string lines;
  for (const Trial& trial : tuner_.trials()) lines += describe(trial) + "\n";
  return lines;
}

}  // namespace stretto::input

// SPDX-License-Identifier: Apache-2.0
// Controls: what of a reader is set on one thread and looked at on another.
#pragma once

#include <algorithm>
#include <atomic>

#include "common/mutex.h"
#include "input/tuning/tuner_limits.h"

namespace stretto::input {

/// The same with at most so many bytes in flight (0: no limit): first reads become smaller, down to
/// `least_read_bytes`, then fewer. One is always in flight.
inline Knobs limited(Knobs knobs, std::uint64_t bytes, std::uint32_t least_read_bytes) {
  if (bytes == 0 || bytes_in_flight(knobs) <= bytes) return knobs;
  while (knobs.read_bytes / 2 >= least_read_bytes && knobs.read_bytes > bytes) {
    knobs.read_bytes /= 2;
  }
  const std::uint64_t depth = std::max<std::uint64_t>(bytes / knobs.read_bytes, 1);
  knobs.depth = static_cast<std::uint32_t>(std::min<std::uint64_t>(knobs.depth, depth));
  return knobs;
}

/// Thread: any. One mutex, of those who turn the knobs.
struct Controls {
  std::atomic<std::uint32_t> depth{8};
  std::atomic<std::uint32_t> read_bytes{1 << 18};
  std::atomic<bool> tuned{false};             ///< By the tuner, and not by the user.
  std::atomic<std::uint64_t> limit_bytes{0};  ///< Of others, on what is in flight; 0: none.
  std::atomic<bool> stop{false};

  /// By the user: the tuner leaves them alone from then on.
  void turn(const Knobs& knobs) {
    MutexLock lock(turning);
    tuned.store(false);
    store(knobs);
  }
  /// By the tuner, as long as the user has not.
  void tune(const Knobs& knobs) {
    MutexLock lock(turning);
    if (tuned.load()) store(knobs);
  }
  /// As they were turned.
  Knobs turned() const { return {depth.load(), read_bytes.load()}; }
  /// What to read with. The tuner knows of the limit itself.
  Knobs in_force() const {
    constexpr std::uint32_t kLeastRead = 16 * 1024;
    const std::uint64_t limit = tuned.load() ? 0 : limit_bytes.load();
    return limited(turned(), limit, kLeastRead);
  }

  Mutex turning;

 private:
  void store(const Knobs& knobs) REQUIRES(turning) {
    depth.store(knobs.depth);
    read_bytes.store(knobs.read_bytes);
  }
};

}  // namespace stretto::input

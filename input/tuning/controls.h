// SPDX-License-Identifier: Apache-2.0
// Controls: settings of a reader that one thread writes and another reads.
#pragma once

#include <algorithm>
#include <atomic>

#include "common/mutex.h"
#include "input/tuning/tuner_limits.h"

namespace stretto::input {

/// The knobs with at most `bytes` in flight (0: no limit): reads become smaller, down to
/// `least_read_bytes`, then fewer. At least one read stays in flight.
inline Knobs limited(Knobs knobs, std::uint64_t bytes, std::uint32_t least_read_bytes) {
  if (bytes == 0 || bytes_in_flight(knobs) <= bytes) return knobs;
  while (knobs.read_bytes / 2 >= least_read_bytes && knobs.read_bytes > bytes) {
    knobs.read_bytes /= 2;
  }
  const std::uint64_t depth = std::max<std::uint64_t>(bytes / knobs.read_bytes, 1);
  knobs.depth = static_cast<std::uint32_t>(std::min<std::uint64_t>(knobs.depth, depth));
  return knobs;
}

/// Thread: any. One mutex for writers of the knobs.
struct Controls {
  std::atomic<std::uint32_t> depth{8};
  std::atomic<std::uint32_t> read_bytes{1 << 18};
  std::atomic<bool> tuned{false};             ///< By the tuner, not by the user.
  std::atomic<std::uint64_t> limit_bytes{0};  ///< The scheduler's, on bytes in flight; 0: none.
  std::atomic<bool> stop{false};

  /// Set by the user: the tuner leaves the knobs alone from then on.
  void turn(const Knobs& knobs) {
    MutexLock lock(turning);
    tuned.store(false);
    store(knobs);
  }
  /// Set by the tuner, unless the user has set them.
  void tune(const Knobs& knobs) {
    MutexLock lock(turning);
    if (tuned.load()) store(knobs);
  }
  /// The knobs before the limit.
  Knobs turned() const { return {depth.load(), read_bytes.load()}; }
  /// The knobs for reads. The tuner knows the limit itself.
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

// SPDX-License-Identifier: Apache-2.0
// SimBytes: what a file of the simulated disk holds, once as programs see it and once as the device
// does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tests/sim/random.h"

namespace stretto::sim {

/// How much of what was not synced reaches the device: all, nothing, or anything in between.
class Luck {
 public:
  explicit Luck(Random& random) : random_(random), percent_(25 * random.below(5)) {}
  bool has() { return random_.below(100) < percent_; }
  Random& random() { return random_; }

 private:
  Random& random_;
  std::uint64_t percent_;
};

/// Thread: the simulation's.
class SimBytes {
 public:
  const std::vector<std::byte>& seen() const { return seen_; }
  void write(std::uint64_t offset, std::span<const std::byte> bytes);
  void sync();
  /// The device has taken some of the sectors, and in each of them the first few of the writes that
  /// touched it; the size may or may not have grown with them, and what the size covers and no
  /// write reached is zero or garbage. The rest is forgotten: no later sync brings it there. What
  /// is seen stays.
  void lose(Luck& luck, std::uint64_t sector_bytes);
  /// From now on only that is seen which the device has.
  void restart() { seen_ = stored_; }

 private:
  struct Write {
    std::uint64_t offset;
    std::vector<std::byte> bytes;
  };

  std::uint64_t size_kept(Luck& luck, std::uint64_t sector_bytes) const;
  void keep_sector(Luck& luck, std::uint64_t first, std::uint64_t last);

  std::vector<std::byte> seen_;
  std::vector<std::byte> stored_;
  std::vector<Write> unsynced_;  // In the order of writing.
};

}  // namespace stretto::sim

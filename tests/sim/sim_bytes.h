// SPDX-License-Identifier: Apache-2.0
// SimBytes: the bytes of a file on the simulated disk, as programs see them and as the device has
// stored them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tests/sim/random.h"

namespace stretto::sim {

/// How many of the unsynced writes reach the device: all, none, or a part.
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
  /// Drops unsynced writes. The device has kept some sectors, each with the first few of the writes
  /// that touched it. The size may or may not have grown; bytes below it that no write reached are
  /// zero or garbage. No later sync stores dropped writes. Programs still see all writes.
  void lose(Luck& luck, std::uint64_t sector_bytes);
  /// From now on programs see only the stored bytes.
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

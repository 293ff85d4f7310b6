// SPDX-License-Identifier: Apache-2.0
// The order of samples: which ones are this worker's in an epoch, and what comes after what. It
// follows from the index and the options alone, never from knobs or timing, and can be entered
// anywhere. Pure.
//
// Neighbouring samples of one file form blocks. An epoch deals the blocks to the workers: in
// sections, or shuffled in turn. Shuffled, so many blocks of a worker at a time form a window, and
// its samples are shuffled among one another.
#pragma once

#include <cstdint>
#include <vector>

#include "worker/input/index.h"

namespace stretto::input {

/// Neighbours in one file.
struct Block {
  std::uint64_t first = 0;
  std::uint32_t count = 0;
};

/// Thread: any (nothing changes it).
class Order {
 public:
  Order(const Index& index, const Options& options);

  /// Blocks that this worker reads in an epoch, and which is in a place of its order.
  std::uint64_t blocks() const { return blocks_of(rank_); }
  const Block& block(std::uint64_t epoch, std::uint64_t place) const;
  /// Samples of this worker in an epoch.
  std::uint64_t samples(std::uint64_t epoch) const;
  /// Blocks in a window: 1 if nothing is shuffled.
  std::uint64_t window_blocks() const { return shuffle_ ? window_blocks_ : 1; }
  /// Shuffles what a window holds.
  void mix(std::uint64_t epoch, std::uint64_t window, std::vector<std::uint64_t>& samples) const;
  /// Of the index and of all that the order depends on, the rank among them.
  std::uint64_t fingerprint() const { return fingerprint_; }

 private:
  std::uint64_t blocks_of(std::uint32_t rank) const;
  std::uint64_t samples_of(std::uint32_t rank, std::uint64_t epoch) const;
  const Block& block_of(std::uint32_t rank, std::uint64_t epoch, std::uint64_t place) const;
  std::uint64_t key(std::uint64_t epoch) const;

  bool shuffle_;
  bool even_;
  std::uint64_t seed_;
  std::uint64_t window_blocks_;
  std::uint32_t rank_;
  std::uint32_t world_;
  std::vector<Block> blocks_;
  std::uint64_t fingerprint_;
};

/// A walk through a worker's order, epoch after epoch. Thread: loop.
class Walk {
 public:
  Walk(const Order& order, std::uint64_t epochs) : order_(order), epochs_(epochs) {}

  /// Goes on behind so many samples of an epoch.
  void seek(std::uint64_t epoch, std::uint64_t passed);
  bool over() const { return epochs_ != 0 && epoch_ >= epochs_; }
  std::uint64_t epoch() const { return epoch_; }
  /// The samples that come next, as far as they are planned together: a window, or blocks that make
  /// `least` samples. None: the epoch is at its end, and the next call is in the one after it.
  std::vector<std::uint64_t> next(std::uint64_t least);

 private:
  void begin_epoch(std::uint64_t epoch);
  std::vector<std::uint64_t> next_window();

  const Order& order_;
  std::uint64_t epochs_;
  std::uint64_t epoch_ = 0;
  bool begun_ = false;
  std::uint64_t place_ = 0;  // Of the next block.
  std::uint64_t skip_ = 0;   // Samples of the next window that were passed.
  std::uint64_t left_ = 0;   // Samples of this epoch.
};

}  // namespace stretto::input

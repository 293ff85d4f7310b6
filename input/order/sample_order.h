// SPDX-License-Identifier: Apache-2.0
// The order of samples: this worker's samples of an epoch, in sequence. It depends only on the
// index and the options, never on knobs or timing, and can start at any position. Pure.
//
// Neighbouring samples of one file form blocks. An epoch arranges the blocks in a row, in file
// order or shuffled, and each worker takes a section of it, counted in samples: workers' counts
// differ by at most one. With shuffling, a fixed number of a worker's blocks forms a window, whose
// samples are shuffled.
#pragma once

#include <cstdint>
#include <vector>

#include "input/formats/index.h"

namespace stretto::input {

/// Neighbouring samples in one file.
struct Block {
  std::uint64_t first = 0;
  std::uint32_t count = 0;
};

/// A worker's samples of an epoch: from `begin` to `end` of the row, except those that the epoch
/// leaves out.
struct Section {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::uint64_t left_out_begin = 0;
  std::uint64_t left_out_end = 0;

  bool holds(std::uint64_t position) const {
    return position >= begin && position < end &&
           (position < left_out_begin || position >= left_out_end);
  }
};

/// Thread: any (immutable).
class Order {
 public:
  Order(const Index& index, const Options& options);

  /// Number of blocks of all workers in an epoch, and the block at a position of the row.
  std::uint64_t blocks() const { return blocks_.size(); }
  const Block& block(std::uint64_t epoch, std::uint64_t place) const;
  /// Number of this worker's samples, equal in each epoch, and their section of the row.
  std::uint64_t samples() const;
  Section section(std::uint64_t epoch) const;
  /// Blocks in a window: 1 without shuffling.
  std::uint64_t window_blocks() const { return shuffle_ ? window_blocks_ : 1; }
  /// Shuffles the samples of a window.
  void mix(std::uint64_t epoch, std::uint64_t window, std::vector<std::uint64_t>& samples) const;
  /// Of the index and all options that determine the order, including the rank.
  std::uint64_t fingerprint() const { return fingerprint_; }

 private:
  std::uint64_t key(std::uint64_t epoch) const;

  bool shuffle_;
  bool even_;
  std::uint64_t seed_;
  std::uint64_t window_blocks_;
  std::uint32_t rank_;
  std::uint32_t world_;
  std::uint64_t all_;  // Samples of all workers.
  std::vector<Block> blocks_;
  std::uint64_t fingerprint_;
};

/// An iterator over a worker's order, epoch after epoch. Thread: loop.
class Walk {
 public:
  Walk(const Order& order, std::uint64_t epochs) : order_(order), epochs_(epochs) {}

  /// Continues after `passed` samples of an epoch.
  void seek(std::uint64_t epoch, std::uint64_t passed);
  bool over() const { return epochs_ != 0 && epoch_ >= epochs_; }
  std::uint64_t epoch() const { return epoch_; }
  /// The next samples that are planned together: a window, or blocks with at least `least` samples.
  /// None: the epoch has ended, and the next call continues in the next one.
  std::vector<std::uint64_t> next(std::uint64_t least);

 private:
  void begin_epoch(std::uint64_t epoch);
  // The samples of the next window: in file order, and in their final order.
  std::vector<std::uint64_t> take_window();
  std::vector<std::uint64_t> next_window();

  const Order& order_;
  std::uint64_t epochs_;
  std::uint64_t epoch_ = 0;
  bool begun_ = false;
  Section section_;
  std::uint64_t window_ = 0;    // Index of the next window, the position of its first block,
  std::uint64_t place_ = 0;     //
  std::uint64_t position_ = 0;  // and that of its first sample.
  std::uint64_t skip_ = 0;      // Samples of the next window to skip.
  std::uint64_t left_ = 0;      // Samples of this epoch.
};

}  // namespace stretto::input

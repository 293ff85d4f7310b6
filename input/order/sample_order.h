// SPDX-License-Identifier: Apache-2.0
// The order of samples: which ones are this worker's in an epoch, and what comes after what. It
// follows from the index and the options alone, never from knobs or timing, and can be entered
// anywhere. Pure.
//
// Neighbouring samples of one file form blocks. An epoch puts the blocks in a row, as they are or
// shuffled, and each worker takes a section of it, counted in samples: workers' shares differ by
// one at most. Shuffled, so many blocks of a worker at a time form a window, and its samples are
// shuffled among one another.
#pragma once

#include <cstdint>
#include <vector>

#include "input/formats/index.h"

namespace stretto::input {

/// Neighbours in one file.
struct Block {
  std::uint64_t first = 0;
  std::uint32_t count = 0;
};

/// A worker's samples of an epoch: of all of them in a row those from begin to end, but for those
/// that the epoch leaves out.
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

/// Thread: any (nothing changes it).
class Order {
 public:
  Order(const Index& index, const Options& options);

  /// Blocks of all workers in an epoch, and which is in a place of the row.
  std::uint64_t blocks() const { return blocks_.size(); }
  const Block& block(std::uint64_t epoch, std::uint64_t place) const;
  /// Samples of this worker, equally many in each epoch, and where they are in the row.
  std::uint64_t samples() const;
  Section section(std::uint64_t epoch) const;
  /// Blocks in a window: 1 if nothing is shuffled.
  std::uint64_t window_blocks() const { return shuffle_ ? window_blocks_ : 1; }
  /// Shuffles what a window holds.
  void mix(std::uint64_t epoch, std::uint64_t window, std::vector<std::uint64_t>& samples) const;
  /// Of the index and of all that the order depends on, the rank among them.
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
  // The samples of the window that comes next: as they lie, and in their order.
  std::vector<std::uint64_t> take_window();
  std::vector<std::uint64_t> next_window();

  const Order& order_;
  std::uint64_t epochs_;
  std::uint64_t epoch_ = 0;
  bool begun_ = false;
  Section section_;
  std::uint64_t window_ = 0;    // The next one, its first block's place in the row,
  std::uint64_t place_ = 0;     //
  std::uint64_t position_ = 0;  // and its first sample's.
  std::uint64_t skip_ = 0;      // Samples of the next window that were passed.
  std::uint64_t left_ = 0;      // Samples of this epoch.
};

}  // namespace stretto::input

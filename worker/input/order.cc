// SPDX-License-Identifier: Apache-2.0
// Blocks are cut by the index once; all else is arithmetic on their numbers.
#include "worker/input/order.h"

#include <algorithm>
#include <limits>

#include "worker/input/permutation.h"

namespace stretto::input {
namespace {

constexpr std::uint64_t kSectionBytes = std::uint64_t{1} << 20;  // Of a block, unshuffled.
constexpr std::uint32_t kMostSamples = 4096;                     // In a block.

std::vector<Block> cut(const Index& index, std::uint64_t block_bytes) {
  std::vector<Block> blocks;
  std::uint32_t file = 0;
  std::uint64_t bytes = 0;
  for (std::uint64_t sample = 0; sample < index.samples(); ++sample) {
    const Place place = index.place(sample);
    const bool joins = !blocks.empty() && place.file == file &&
                       blocks.back().count < kMostSamples &&
                       bytes + place.extent.bytes <= block_bytes;
    if (joins) {
      ++blocks.back().count;
      bytes += place.extent.bytes;
    } else {
      blocks.push_back({sample, 1});
      bytes = place.extent.bytes;
    }
    file = place.file;
  }
  return blocks;
}

}  // namespace

Order::Order(const Index& index, const Options& options)
    : shuffle_(options.shuffle),
      even_(options.even),
      seed_(options.seed),
      window_blocks_(std::max(options.shuffle_blocks, 1U)),
      rank_(options.rank),
      world_(options.world),
      blocks_(cut(index, options.shuffle ? options.shuffle_block_bytes : kSectionBytes)),
      fingerprint_(index.fingerprint()) {
  for (const std::uint64_t part :
       {std::uint64_t{shuffle_}, std::uint64_t{even_}, shuffle_ ? seed_ : 0, window_blocks(),
        std::uint64_t{rank_}, std::uint64_t{world_}, std::uint64_t{blocks_.size()}}) {
    fingerprint_ = mixed(fingerprint_ + part);
  }
}

std::uint64_t Order::key(std::uint64_t epoch) const { return mixed(seed_) + mixed(~epoch); }

std::uint64_t Order::blocks_of(std::uint32_t rank) const {
  const std::uint64_t all = blocks_.size();
  return all / world_ + (rank < all % world_ ? 1 : 0);
}

const Block& Order::block_of(std::uint32_t rank, std::uint64_t epoch, std::uint64_t place) const {
  if (shuffle_) {
    return blocks_[Permutation(blocks_.size(), key(epoch))(rank + place * world_)];
  }
  // Sections: what comes in a row is read in a row.
  const std::uint64_t all = blocks_.size();
  return blocks_[rank * (all / world_) + std::min<std::uint64_t>(rank, all % world_) + place];
}

const Block& Order::block(std::uint64_t epoch, std::uint64_t place) const {
  return block_of(rank_, epoch, place);
}

std::uint64_t Order::samples_of(std::uint32_t rank, std::uint64_t epoch) const {
  std::uint64_t samples = 0;
  for (std::uint64_t place = 0; place < blocks_of(rank); ++place) {
    samples += block_of(rank, epoch, place).count;
  }
  return samples;
}

std::uint64_t Order::samples(std::uint64_t epoch) const {
  if (!even_) return samples_of(rank_, epoch);
  std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
  for (std::uint32_t rank = 0; rank < world_; ++rank) {
    least = std::min(least, samples_of(rank, epoch));
  }
  return least;
}

void Order::mix(std::uint64_t epoch, std::uint64_t window,
                std::vector<std::uint64_t>& samples) const {
  if (!shuffle_ || samples.size() < 2) return;
  std::uint64_t state = mixed(key(epoch) + mixed(window * world_ + rank_ + 1));
  for (std::size_t i = samples.size() - 1; i > 0; --i) {  // Fisher and Yates.
    state = mixed(state + 0x9e3779b97f4a7c15ULL);
    std::swap(samples[i], samples[state % (i + 1)]);
  }
}

void Walk::begin_epoch(std::uint64_t epoch) {
  epoch_ = epoch;
  begun_ = true;
  place_ = 0;
  left_ = order_.samples(epoch);
}

std::vector<std::uint64_t> Walk::next_window() {
  std::vector<std::uint64_t> samples;
  const std::uint64_t window = place_ / order_.window_blocks();
  const std::uint64_t end = std::min(place_ + order_.window_blocks(), order_.blocks());
  for (; place_ < end; ++place_) {
    const Block& block = order_.block(epoch_, place_);
    for (std::uint32_t i = 0; i < block.count; ++i) samples.push_back(block.first + i);
  }
  order_.mix(epoch_, window, samples);
  return samples;
}

void Walk::seek(std::uint64_t epoch, std::uint64_t passed) {
  begin_epoch(epoch);
  left_ -= std::min(passed, left_);
  // Whole windows are passed without being made.
  while (place_ < order_.blocks()) {
    const std::uint64_t end = std::min(place_ + order_.window_blocks(), order_.blocks());
    std::uint64_t count = 0;
    for (std::uint64_t place = place_; place < end; ++place) {
      count += order_.block(epoch, place).count;
    }
    if (count > passed) break;
    passed -= count;
    place_ = end;
  }
  skip_ = passed;
}

std::vector<std::uint64_t> Walk::next(std::uint64_t least) {
  if (!begun_) begin_epoch(epoch_);
  std::vector<std::uint64_t> samples;
  while (samples.size() < left_ && (samples.empty() || samples.size() < least)) {
    std::vector<std::uint64_t> window = next_window();
    const auto passed = static_cast<std::ptrdiff_t>(std::min<std::uint64_t>(skip_, window.size()));
    skip_ = 0;
    samples.insert(samples.end(), window.begin() + passed, window.end());
  }
  if (samples.size() > left_) samples.resize(left_);
  left_ -= samples.size();
  if (samples.empty()) {
    ++epoch_;
    begun_ = false;
  }
  return samples;
}

}  // namespace stretto::input

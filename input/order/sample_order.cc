// SPDX-License-Identifier: Apache-2.0
// The index is cut into blocks once; all else is arithmetic on block numbers.
#include "input/order/sample_order.h"

#include <algorithm>
#include <tuple>

#include "common/mix64.h"
#include "input/order/permutation.h"

namespace stretto::input {
namespace {

constexpr std::uint64_t kSectionBytes = std::uint64_t{1} << 20;  // Of a block, without shuffle.
constexpr std::uint64_t kMostSamples = 4096;                     // In a block.

std::vector<Block> cut(const Index& index, std::uint64_t block_bytes, std::uint64_t most_samples) {
  std::vector<Block> blocks;
  std::uint32_t file = 0;
  std::uint64_t bytes = 0;
  for (std::uint64_t sample = 0; sample < index.samples(); ++sample) {
    const Place place = index.place(sample);
    const bool joins = !blocks.empty() && place.file == file &&
                       blocks.back().count < most_samples &&
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

// The blocks of a small data set are small enough for each worker's window to mix blocks from the
// whole set.
std::vector<Block> blocks_of(const Index& index, const Options& options) {
  if (!options.shuffle) return cut(index, kSectionBytes, kMostSamples);
  const std::uint64_t wanted = std::uint64_t{options.world} * std::max(options.shuffle_blocks, 1U);
  return cut(index, options.shuffle_block_bytes,
             std::clamp<std::uint64_t>(index.samples() / wanted, 1, kMostSamples));
}

}  // namespace

Order::Order(const Index& index, const Options& options)
    : shuffle_(options.shuffle),
      even_(options.even),
      seed_(options.seed),
      window_blocks_(std::max(options.shuffle_blocks, 1U)),
      rank_(options.rank),
      world_(options.world),
      all_(index.samples()),
      blocks_(blocks_of(index, options)),
      fingerprint_(index.fingerprint()) {
  for (const std::uint64_t part : {std::uint64_t{shuffle_}, std::uint64_t{even_},
                                   std::uint64_t{rank_}, std::uint64_t{world_}}) {
    fingerprint_ = mix64(fingerprint_ + part);
  }
  if (!shuffle_) return;
  fingerprint_ = mix64(mix64(fingerprint_ + seed_) + window_blocks_);
  for (const Block& block : blocks_) fingerprint_ = mix64(fingerprint_ + block.first);
}

std::uint64_t Order::key(std::uint64_t epoch) const { return mix64(seed_) + mix64(~epoch); }

const Block& Order::block(std::uint64_t epoch, std::uint64_t place) const {
  return blocks_[shuffle_ ? Permutation(blocks_.size(), key(epoch))(place) : place];
}

std::uint64_t Order::samples() const {
  return all_ / world_ + (!even_ && rank_ < all_ % world_ ? 1 : 0);
}

Section Order::section(std::uint64_t epoch) const {
  const std::uint64_t rest = all_ % world_;
  const std::uint64_t before = all_ / world_ * rank_;
  if (!even_) {
    const std::uint64_t begin = before + std::min<std::uint64_t>(rank_, rest);
    return {.begin = begin, .end = begin + samples()};
  }
  // The omitted samples change from epoch to epoch.
  const std::uint64_t gap = rest == 0 ? all_ : epoch % (all_ / rest) * rest;
  const auto behind_gap = [&](std::uint64_t kept) { return kept < gap ? kept : kept + rest; };
  const std::uint64_t begin = behind_gap(before);
  const std::uint64_t end = samples() == 0 ? begin : behind_gap(before + samples() - 1) + 1;
  return {.begin = begin, .end = end, .left_out_begin = gap, .left_out_end = gap + rest};
}

void Order::mix(std::uint64_t epoch, std::uint64_t window,
                std::vector<std::uint64_t>& samples) const {
  if (!shuffle_ || samples.size() < 2) return;
  std::uint64_t state = mix64(key(epoch) + mix64(window * world_ + rank_ + 1));
  for (std::size_t i = samples.size() - 1; i > 0; --i) {  // Fisher and Yates.
    state = mix64(state + 0x9e3779b97f4a7c15ULL);
    std::swap(samples[i], samples[state % (i + 1)]);
  }
}

void Walk::begin_epoch(std::uint64_t epoch) {
  epoch_ = epoch;
  begun_ = true;
  section_ = order_.section(epoch);
  left_ = order_.samples();
  window_ = place_ = position_ = skip_ = 0;
  while (place_ < order_.blocks()) {
    const std::uint64_t end = position_ + order_.block(epoch_, place_).count;
    if (end > section_.begin) break;
    position_ = end;
    ++place_;
  }
}

std::vector<std::uint64_t> Walk::take_window() {
  std::vector<std::uint64_t> samples;
  const std::uint64_t end = std::min(place_ + order_.window_blocks(), order_.blocks());
  for (; place_ < end && position_ < section_.end; ++place_) {
    const Block& block = order_.block(epoch_, place_);
    for (std::uint32_t i = 0; i < block.count; ++i, ++position_) {
      if (section_.holds(position_)) samples.push_back(block.first + i);
    }
  }
  ++window_;
  return samples;
}

std::vector<std::uint64_t> Walk::next_window() {
  const std::uint64_t window = window_;
  std::vector<std::uint64_t> samples = take_window();
  order_.mix(epoch_, window, samples);
  return samples;
}

void Walk::seek(std::uint64_t epoch, std::uint64_t passed) {
  begin_epoch(epoch);
  skip_ = std::min(passed, left_);
  left_ -= skip_;
  while (left_ > 0) {  // Skips whole windows.
    const auto before = std::tuple(window_, place_, position_);
    const std::uint64_t count = take_window().size();
    if (count > skip_) {
      std::tie(window_, place_, position_) = before;
      return;
    }
    skip_ -= count;
  }
  skip_ = 0;
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

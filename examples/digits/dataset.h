// SPDX-License-Identifier: Apache-2.0
// The handwritten digits: reading them, the fixed split into training and test samples, and the
// minibatches of one worker's shard. Independent of any network.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stretto/status.h"

namespace digits {

inline constexpr std::size_t kPixels = 64;  ///< 8 x 8, row by row.
inline constexpr std::size_t kClasses = 10;

struct Sample {
  std::array<float, kPixels> pixels = {};  ///< From 0 (blank) to 1.
  std::size_t label = 0;                   ///< The digit that was written.
};

struct Dataset {
  std::vector<Sample> train;
  std::vector<Sample> test;  ///< Every fifth sample of the file: its 5th, 10th, 15th and so on.
};

/// Each line of `text` is a sample: 64 pixels from 0 to 16, then the label, separated by commas.
/// kMalformed, with the line and the text found, otherwise.
stretto::Result<Dataset> parse_digits(std::string_view text);

/// The same from a file; errors begin with its path.
stretto::Result<Dataset> read_digits(const std::string& path);

/// Worker `rank`'s part of the samples: those at rank, rank + workers, rank + 2 * workers...
std::vector<Sample> shard(std::span<const Sample> samples, std::size_t rank, std::size_t workers);

/// The picture, moved `right` and `down` by pixels (negative: left and up), with blank margins.
Sample moved(const Sample& sample, int right, int down);

/// The picture itself with probability 1/2, otherwise moved by one pixel in a random direction.
/// With few samples this lets the model recognise unseen digits.
Sample perhaps_moved(const Sample& sample, std::mt19937_64& random);

/// Endless minibatches over one worker's samples, reshuffled for every pass. An incomplete last
/// batch of a pass is skipped. The pictures are perhaps_moved().
class Batches {
 public:
  /// `batch` is from 1 to samples.size().
  Batches(std::vector<Sample> samples, std::size_t batch, std::uint64_t seed);
  /// Valid until the next call.
  std::span<const Sample> next();

 private:
  std::vector<Sample> samples_;
  std::vector<Sample> batch_;
  std::size_t position_;
  std::mt19937_64 random_;
};

}  // namespace digits

// SPDX-License-Identifier: Apache-2.0
// The digits from a record file, by Stretto's reader: what the example does when its data is too
// much for memory. A record is a picture's pixels from 0 to 16, one byte each, and its label. So
// that the data really is too much, the pictures can be magnified: 8 N x 8 N pixels.
#pragma once

#include <stretto/input.h>

#include <random>
#include <span>
#include <string>
#include <vector>

#include "examples/digits/dataset.h"

namespace digits {

/// What each pixel becomes `magnify` x `magnify` of, and the label.
constexpr std::size_t record_bytes(std::size_t magnify) { return kPixels * magnify * magnify + 1; }

/// Writes the samples as records to a file of `folder`, which is made if it is not there, and gives
/// its path. Workers of one host may do so at the same time: the file appears whole.
stretto::Result<std::string> write_records(std::span<const Sample> samples,
                                           const std::string& folder, std::size_t magnify);

/// Endless minibatches over one worker's part of a record file: as Batches, but read while they are
/// used.
class RecordBatches {
 public:
  /// Worker `rank` of `workers`, which all must pass the same seed.
  static stretto::Result<RecordBatches> open(const std::string& path, std::size_t magnify,
                                             std::size_t batch, std::uint64_t seed,
                                             std::uint32_t rank, std::uint32_t workers);
  /// Holds until the next call. An error names the file and the place in it.
  stretto::Result<std::span<const Sample>> next();

 private:
  RecordBatches(stretto::input::Reader reader, std::size_t batch, std::uint64_t seed)
      : reader_(std::move(reader)), batch_(batch), random_(seed) {}

  stretto::input::Reader reader_;
  std::vector<Sample> batch_;
  std::mt19937_64 random_;
};

}  // namespace digits

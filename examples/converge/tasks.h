// SPDX-License-Identifier: Apache-2.0
// The tasks to be learnt: samples for training and for testing, and the network that learns them.
#pragma once

#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "examples/converge/network.h"
#include "stretto/status.h"

namespace converge {

/// The samples do not depend on the seed of a run: a task is always the same.
struct Task {
  std::string name;
  Samples train;
  Samples test;
  Network network;
};

/// softmax   the handwritten digits (64 pixels) by one layer: convex, 650 weights
/// mlp       the same with 64 hidden units: 4,810 weights
/// conv      the same with two convolutions (8 channels, then 16 at half the size): 3,818 weights
/// clusters  synthetic: 16 classes of 4 Gaussian clouds each in 128 dimensions, not linearly
///           separable; 256 hidden units: 37,136 weights
/// `digits` is the path of the file of digits. kInvalidArgument if the task is not known.
stretto::Result<Task> make_task(std::string_view name, const std::string& digits);

/// Endless minibatches over the samples at rank, rank + workers, ...; in another order each pass.
class Batches {
 public:
  /// `size` is at least 1; a worker with fewer samples gets smaller batches.
  Batches(std::size_t samples, std::size_t rank, std::size_t workers, std::size_t size,
          std::uint64_t seed);
  /// Indices of samples, valid until the next call.
  std::span<const std::size_t> next();

 private:
  std::vector<std::size_t> order_;
  std::size_t size_;
  std::size_t position_;
  std::mt19937_64 random_;
};

}  // namespace converge

// SPDX-License-Identifier: Apache-2.0
// PartSum: the sum of a part's round at one worker, made in the memory of the operation that takes
// part. While it is this worker's contribution alone, nothing is copied.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "common/memory/buffer.h"
#include "ops/sum.h"
#include "stretto/tensor.h"

namespace stretto {

/// How a round of a tensor combines two contributions.
ops::ReduceOp reduction_of(Rule rule);

/// Thread: loop.
class PartSum {
 public:
  /// Begins a round: `source` is this worker's contribution, empty if it has none, `target` where
  /// the value is wanted. They are the same memory, or do not overlap.
  /// An empty target: no sum is made here, and the value is not wanted.
  void begin(std::span<const std::byte> source, std::span<std::byte> target);
  /// Adds this worker's contribution.
  void add_own(ops::ReduceOp reduction, Dtype dtype);
  /// Adds another contribution.
  void add(ops::ReduceOp reduction, Dtype dtype, std::span<const std::byte> bytes);
  /// Makes the round's value of `contributors` contributions; without any, zeros.
  void finish(ops::ReduceOp reduction, Dtype dtype, std::uint32_t contributors);

  /// The value has arrived: these bytes, which may be in the target already.
  void adopt(std::span<const std::byte> value);

  /// The sum: in the source while it is this worker's contribution alone, else in the target.
  std::span<const std::byte> bytes() const { return own_alone_ ? source_ : target_; }
  bool in_source() const { return own_alone_; }
  std::span<std::byte> target() const { return target_; }

 private:
  std::span<const std::byte> source_;
  std::span<std::byte> target_;
  bool own_alone_ = false;
  bool any_ = false;
};

}  // namespace stretto

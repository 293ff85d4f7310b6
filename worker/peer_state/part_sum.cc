// SPDX-License-Identifier: Apache-2.0
// The first contribution stays in place; the second is added to it on the way to the target.
#include "worker/peer_state/part_sum.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "common/check.h"
#include "common/memory/copy_bytes.h"

namespace stretto {

ops::ReduceOp reduction_of(Rule rule) {
  switch (rule) {
    case Rule::kMean:
      return ops::ReduceOp::kAverage;
    case Rule::kMin:
      return ops::ReduceOp::kMin;
    case Rule::kMax:
      return ops::ReduceOp::kMax;
    case Rule::kProduct:
      return ops::ReduceOp::kProduct;
    default:
      return ops::ReduceOp::kSum;
  }
}

void PartSum::begin(std::span<const std::byte> source, std::span<std::byte> target) {
  STRETTO_CHECK(source.empty() || target.empty() || source.size() == target.size());
  source_ = source;
  target_ = target;
  own_alone_ = false;
  any_ = false;
}

void PartSum::add_own(ops::ReduceOp reduction, Dtype dtype) {
  if (any_) return add(reduction, dtype, source_);
  any_ = true;
  own_alone_ = true;
}

void PartSum::add(ops::ReduceOp reduction, Dtype dtype, std::span<const std::byte> bytes) {
  STRETTO_CHECK(bytes.size() == target_.size());
  if (!std::exchange(any_, true)) {
    copy_bytes(bytes, target_);
    return;
  }
  const bool sums = reduction == ops::ReduceOp::kSum || reduction == ops::ReduceOp::kAverage;
  const bool moves = std::exchange(own_alone_, false) && source_.data() != target_.data();
  if (moves && sums) return ops::sum_to(dtype, target_, source_, bytes);
  if (moves) copy_bytes(source_, target_);
  ops::reduce_into(reduction, dtype, target_, bytes);
}

void PartSum::adopt(std::span<const std::byte> value) {
  STRETTO_CHECK(value.size() == target_.size());
  if (value.data() != target_.data()) copy_bytes(value, target_);
  own_alone_ = false;
  any_ = true;
}

void PartSum::finish(ops::ReduceOp reduction, Dtype dtype, std::uint32_t contributors) {
  if (!any_) std::ranges::fill(target_, std::byte{});
  if (own_alone_ && source_.data() != target_.data()) copy_bytes(source_, target_);
  own_alone_ = false;
  ops::finish(reduction, dtype, target_, contributors);
}

}  // namespace stretto

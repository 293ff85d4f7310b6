// SPDX-License-Identifier: Apache-2.0
// Sums are made in memory of their own: operations come to their rounds when these are over.
#include "worker/quorum_part.h"

#include <algorithm>
#include <utility>

#include "common/check.h"

namespace stretto {

void QuorumPart::add(ops::ReduceOp reduction, Dtype dtype, std::span<const std::byte> share) {
  ++sum_from_;
  if (share.empty()) return;
  if (!sum_.empty()) return ops::reduce_into(reduction, dtype, sum_.writable(), share);
  const bool fits = spare_.exclusive() && spare_.size() == share.size();
  sum_ = fits ? std::exchange(spare_, {}) : Buffer::allocate(share.size());
  std::ranges::copy(share, sum_.writable().begin());
}

QuorumPart::Value QuorumPart::make_value(ops::ReduceOp reduction, Dtype dtype, std::size_t bytes,
                                         bool without_ours) {
  if (sum_.empty()) {
    sum_ = Buffer::allocate(bytes);
    std::ranges::fill(sum_.writable(), std::byte{});
  }
  const std::uint32_t from = std::exchange(sum_from_, 0);
  ops::finish(reduction, dtype, sum_.writable(), std::max(from, 1U));
  return {.bytes = std::exchange(sum_, {}), .contributors = from, .without_ours = without_ours};
}

Buffer QuorumPart::share_of(Dtype dtype, std::span<const std::byte> source) {
  if (withheld_.empty()) return Buffer::copy_of(source);
  if (!source.empty()) ops::sum_into(dtype, withheld_.writable(), source);
  return std::exchange(withheld_, {});
}

void QuorumPart::withhold(Dtype dtype, std::span<const std::byte> share) {
  if (share.empty()) return;
  if (!withheld_.empty()) return ops::sum_into(dtype, withheld_.writable(), share);
  withheld_ = Buffer::copy_of(share);
}

QuorumPart::Value QuorumPart::take() {
  const auto found = values.find(begun);
  STRETTO_CHECK(found != values.end() && begun == finished + 1);
  Value taken = std::move(found->second);
  values.erase(found);
  ++finished;
  spare_ = taken.bytes;  // Others may read it for a while.
  return taken;
}

void QuorumPart::clear() {
  values.clear();
  for (Buffer* each : {&sent, &sum_, &spare_, &withheld_}) *each = {};
}

}  // namespace stretto

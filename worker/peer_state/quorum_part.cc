// SPDX-License-Identifier: Apache-2.0
// Sums are made in separate memory: operations may reach their rounds after these have closed.
#include "worker/peer_state/quorum_part.h"

#include <algorithm>
#include <utility>

#include "common/check.h"
#include "common/memory/copy_bytes.h"

namespace stretto {

void QuorumPart::add(ops::ReduceOp reduction, Dtype dtype, std::span<const std::byte> share,
                     std::uint32_t from) {
  sum_from_ += from;
  if (share.empty()) return;
  if (!sum_.empty()) return ops::reduce_into(reduction, dtype, sum_.writable(), share);
  const bool fits = spare_.exclusive() && spare_.size() == share.size();
  sum_ = fits ? std::exchange(spare_, {}) : Buffer::allocate(share.size());
  copy_bytes(share, sum_.writable());
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

QuorumPart::Share QuorumPart::share_of(Dtype dtype, std::span<const std::byte> source) {
  if (withheld_.empty()) return {.bytes = Buffer::copy_of(source)};
  if (!source.empty()) ops::sum_into(dtype, withheld_.writable(), source);
  return {.bytes = std::exchange(withheld_, {}), .from = std::exchange(withheld_from_, 0) + 1};
}

void QuorumPart::withhold(Dtype dtype, std::span<const std::byte> share, std::uint32_t from) {
  if (share.empty()) return;
  withheld_from_ += from;
  if (!withheld_.empty()) return ops::sum_into(dtype, withheld_.writable(), share);
  withheld_ = Buffer::copy_of(share);
}

QuorumPart::Value QuorumPart::take() {
  const auto found = values.find(begun);
  STRETTO_CHECK(found != values.end() && begun == finished + 1);
  Value taken = std::move(found->second);
  values.erase(found);
  ++finished;
  if (rounds) spare_ = taken.bytes;  // Peers may read it for a while.
  return taken;
}

void QuorumPart::clear() {
  values.clear();
  sent = {};
  withheld_from_ = 0;
  for (Buffer* each : {&sum_, &spare_, &withheld_}) *each = {};
}

}  // namespace stretto

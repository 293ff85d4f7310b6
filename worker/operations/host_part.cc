// SPDX-License-Identifier: Apache-2.0
// Which frames are admitted, and in which order contributions are added.
#include "worker/operations/host_part.h"

#include <algorithm>
#include <utility>

#include "common/check.h"
#include "common/memory/copy_bytes.h"

namespace stretto {
namespace {

// Larger tensors take as long by trees, for which a member needs less memory.
constexpr std::uint64_t kMostBytes = std::uint64_t{512} << 10;

}  // namespace

bool goes_to_all(const std::vector<std::uint32_t>& machines, std::uint64_t bytes) {
  return machines.size() == 2 && machines.front() == machines.back() && bytes <= kMostBytes;
}

void make_value_of_all(ops::ReduceOp op, Dtype dtype, std::span<std::byte> target,
                       const std::vector<std::span<const std::byte>>& contributions,
                       std::uint32_t contributors) {
  const bool sums = op == ops::ReduceOp::kSum || op == ops::ReduceOp::kAverage;
  std::size_t made = 1;
  if (contributions.empty()) {
    std::ranges::fill(target, std::byte{});
  } else if (sums && contributions.size() > 1) {
    ops::sum_to(dtype, target, contributions[0], contributions[1]);
    made = 2;
  } else {
    copy_bytes(contributions[0], target);
  }
  for (; made < contributions.size(); ++made) {
    ops::reduce_into(op, dtype, target, contributions[made]);
  }
  ops::finish(op, dtype, target, contributors);
}

// A member begins a round when it has the previous value, which needs this member's contribution.
HostPart::Verdict HostPart::admit(std::uint64_t round) const {
  if (round == finished + 1) return Verdict::kNow;
  const bool may_be_next = round == finished + 2 && begun == finished + 1;
  return may_be_next ? Verdict::kNext : Verdict::kWrong;
}

std::vector<std::span<const std::byte>> HostPart::contributions(Place self) const {
  std::vector<std::pair<Place, std::span<const std::byte>>> all;
  if (!own.empty()) all.emplace_back(self, own.bytes());
  for (const Given& given : here) {
    if (!given.frame.absent) all.emplace_back(given.from, given.payload.bytes());
  }
  std::ranges::sort(all, [this](const auto& one, const auto& other) {
    return std::pair(one.first != first, one.first) < std::pair(other.first != first, other.first);
  });
  std::vector<std::span<const std::byte>> in_order;
  in_order.reserve(all.size());
  for (const auto& [place, bytes] : all) in_order.push_back(bytes);
  return in_order;
}

void HostPart::next_round() {
  STRETTO_CHECK(begun == finished + 1 && unsent.empty());
  ++finished;
  own = {};
  here = std::exchange(ahead, {});
}

void HostPart::clear() {
  own = {};
  here.clear();
  ahead.clear();
  unsent.clear();
  queued = false;
}

}  // namespace stretto

// SPDX-License-Identifier: Apache-2.0
// A part alone in its slot, and workers that contribute to their next rounds. Completed updates are
// released at once.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "server/storage/slot.h"
#include "tests/server/group.h"
#include "tests/van/far_end.h"

namespace stretto {

/// Makes a tensor of one part as the owner of a slot does.
inline Part& add_part(Slot& slot, const TensorSpec& spec, std::uint32_t workers,
                      wire::Key key = {1, 0},
                      Aggregator::Shares shares = Aggregator::Shares::kAdded) {
  const PartLayout layout(spec, key, spec.elements, workers);
  std::unique_ptr<ops::UpdateRule> rule;
  if (layout.has_rule) {
    rule = ops::make_update_rule(spec.options.update, layout.dtype, layout.sums, layout.elements)
               .or_exit();
  }
  return slot.add(spec, layout, std::move(rule),
                  Aggregator(layout, fake::group_of(workers), Buffer::allocate, shares),
                  Buffer::allocate);
}

class PartFixture : public testing::Test {
 protected:
  void make(std::uint32_t workers, const TensorOptions& options = {}, std::size_t elements = 2,
            Dtype dtype = Dtype::kF32) {
    spec_ = fake::spec("x", dtype, elements, options);
    slot_.emplace(0, 0);
    part_ = &add_part(*slot_, spec_, workers);
  }
  Status contribute(Share given) {
    const PushId push{given.worker, part_->key, given.round};
    return release(slot_->count(*part_, push, std::move(given)));
  }
  Status release(Result<Aggregator::Counted> counted) {
    if (!counted.ok()) return counted.status();
    gate_ = counted->gate;
    if (counted->update) slot_->release(slot_->append(*part_, *std::move(counted->update)));
    EXPECT_TRUE(slot_->consistent());
    return {};
  }
  Status share(Rank rank, Buffer bytes) {
    return contribute(
        {.worker = fake::node_of(rank), .round = next(rank), .bytes = std::move(bytes)});
  }
  Status share(Rank rank, const std::vector<float>& numbers) {
    return share(rank, fake::bytes_of(numbers));
  }
  /// A sum of these ranks' contributions to a round, sent by none of them.
  Status sum_of(const std::vector<Rank>& ranks, std::uint64_t round,
                const std::vector<float>& numbers) {
    std::vector<NodeId> makers;
    for (const Rank rank : ranks) makers.push_back(fake::node_of(rank));
    Share sum = {.worker = 99, .round = round, .bytes = fake::bytes_of(numbers)};
    return release(slot_->count_sum(*part_, std::move(sum), makers));
  }
  /// As the root of a broadcast.
  Status assign(Rank rank, Buffer bytes) {
    return contribute({.worker = fake::node_of(rank),
                       .round = next(rank),
                       .assign = true,
                       .root = rank,
                       .bytes = std::move(bytes)});
  }
  Status assign(Rank rank, const std::vector<float>& numbers) {
    return assign(rank, fake::bytes_of(numbers));
  }
  /// As a receiver of a broadcast.
  Status attend(Rank rank, Rank root) {
    return contribute({.worker = fake::node_of(rank),
                       .round = next(rank),
                       .assign = true,
                       .absent = true,
                       .root = root,
                       .bytes = {}});
  }
  std::uint64_t next(Rank rank) const { return rounds().rounds_of(fake::node_of(rank)) + 1; }
  const Consistency& rounds() const { return part_->collector.rounds(); }
  const Value& held() const { return part_->store.value(); }
  std::vector<float> value() const { return fake::floats_of(held().bytes.bytes()); }

  TensorSpec spec_;
  std::optional<Slot> slot_;
  Part* part_ = nullptr;
  Consistency::Gate gate_;
};

}  // namespace stretto

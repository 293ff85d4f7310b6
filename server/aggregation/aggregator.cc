// SPDX-License-Identifier: Apache-2.0
// Contributions become sums: adopted, decoded, added.
#include "server/aggregation/aggregator.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "common/check.h"
#include "ops/mean.h"
#include "ops/sum.h"

namespace stretto {
namespace {

// Memory from allocate_, which is aligned.
std::span<float> sum_numbers(std::span<std::byte> bytes) {
  return {reinterpret_cast<float*>(bytes.data()), bytes.size() / sizeof(float)};
}

ops::ReduceOp reduction_of(Rule rule) {
  if (rule == Rule::kMin) return ops::ReduceOp::kMin;
  if (rule == Rule::kMax) return ops::ReduceOp::kMax;
  return rule == Rule::kProduct ? ops::ReduceOp::kProduct : ops::ReduceOp::kSum;
}

}  // namespace

Aggregator::Aggregator(const PartLayout& layout, ContributorGroup group, Allocate allocate,
                       Shares shares)
    : layout_(layout),
      allocate_(std::move(allocate)),
      rounds_(layout.options, std::move(group)),
      shares_(shares) {
  if (layout.options.deterministic || shares == Shares::kKept) {
    held_.resize(rounds_.group()->size());
  }
}

// `share` is a contributor's.
Rank Aggregator::rank_of(const Share& share) const {
  const auto index = rounds_.group()->find(share.worker);
  STRETTO_CHECK(index.has_value());
  return rounds_.group()->at(*index).rank;
}

// With addition in rank order, the worst case is that the first contribution comes last.
std::uint64_t Aggregator::most_held_bytes() const {
  if (held_.empty() || !are_collected(layout_.options.mode, false)) return 0;
  const std::uint64_t shares = held_.size() - (shares_ == Shares::kKept ? 0 : 1);
  const CodecSpec& codec = layout_.codec;
  return shares * (codec.lossy() ? ops::encoded_bytes(codec, layout_.elements) : layout_.bytes);
}

// Contributions must have the tensor's codec; broadcast bytes are plain.
Status Aggregator::check_encoding(const Share& share) const {
  const Codec wanted = share.assign ? Codec::kNone : layout_.codec.codec;
  if (share.codec != wanted) {
    return {Code::kMismatch, fmt::format("worker {} sent a share as {}, wanted {}", rank_of(share),
                                         name_of(share.codec), name_of(wanted))};
  }
  if (wanted != Codec::kNone) {
    Status status =
        ops::check_encoded(layout_.codec, layout_.bytes / sizeof(float), share.bytes.bytes());
    if (status.ok()) return {};
    return {status.code(), fmt::format("worker {}: {}", rank_of(share), status.cause())};
  }
  if (share.bytes.size() == layout_.bytes) return {};
  return {Code::kMismatch, fmt::format("worker {} sent {} bytes for a part of {}", rank_of(share),
                                       share.bytes.size(), layout_.bytes)};
}

Status Aggregator::check(const Share& share) const {
  if (!rounds_.group()->contains(share.worker)) {
    return rounds_.admit(share.worker, share.round, share.assign);
  }
  if (!share.absent) {
    if (Status status = check_encoding(share); !status.ok()) return status;
  }
  if (share.absent && !are_collected(layout_.options.mode, share.assign)) {
    return {Code::kMalformed, fmt::format("worker {} sent an empty share", rank_of(share))};
  }
  if (share.assign) {
    Status status =
        broadcast_.check(share, rank_of(share), *rounds_.group(), shares_ == Shares::kKept);
    if (!status.ok()) return status;
  }
  return rounds_.admit(share.worker, share.round, share.assign);
}

Result<Aggregator::Counted> Aggregator::add(Share share) {
  if (Status status = check(share); !status.ok()) return status;
  const bool assign = share.assign;
  std::optional<Sources> from = rounds_.contribute(share.worker, assign);
  const bool completes = from.has_value();
  Counted counted{.gate = rounds_.gate_after(assign, completes), .update = {}};
  if (!are_collected(layout_.options.mode, assign)) {
    Buffer bytes = share.codec == Codec::kNone ? std::move(share.bytes) : decoded(share.bytes);
    counted.update = made_of(*std::move(from), assign, std::move(bytes));
  } else {
    collect(std::move(share));
    if (completes) counted.update = finish(*std::move(from), assign);
  }
  STRETTO_CHECK(rounds_.open() || (sum_.empty() && !broadcast_.open()));
  if (completes) follow_changes();
  return counted;
}

// ---- preaggregated sums

Result<Aggregator::Counted> Aggregator::add_sum(Share sum, const std::vector<NodeId>& makers) {
  if (Status status = check_sum(rounds_, layout_.options.mode, sum, makers); !status.ok()) {
    return status;
  }
  sum.worker = makers.front();
  if (Status status = sum.absent ? Status() : check_encoding(sum); !status.ok()) return status;
  std::optional<Sources> from;
  for (const NodeId maker : makers) {  // Atomic: no caller sees a partial state.
    STRETTO_CHECK(!from);
    from = rounds_.contribute(maker, false);
  }
  Counted counted{.gate = rounds_.gate_after(false, from.has_value()), .update = {}};
  hold_places(sum, makers);
  collect(std::move(sum));
  if (!from) return counted;
  counted.update = made_of(*std::move(from), false, take_sum());
  follow_changes();
  return counted;
}

// A held sum takes the position of its first contributor; the positions of the others are marked as
// empty contributions.
void Aggregator::hold_places(Share& sum, const std::vector<NodeId>& makers) {
  if (held_.empty() || makers.size() < 2) return;
  const auto place = [this](NodeId maker) { return *rounds_.group()->find(maker); };
  sum.worker = *std::ranges::min_element(makers, {}, place);
  for (const NodeId maker : makers) {
    if (maker != sum.worker) held_[place(maker)] = {.worker = maker, .absent = true, .bytes = {}};
  }
  sums_.add(makers);
}

Update Aggregator::made_of(Sources from, bool assign, Buffer bytes) {
  const auto listeners = static_cast<std::uint32_t>(std::exchange(listeners_, {}).size());
  return {.key = layout_.key,
          .version = rounds_.version(),
          .from = std::move(from),
          .listeners = listeners,
          .assign = assign,
          .bytes = std::move(bytes)};
}

// Makes the update of the round that was just completed.
std::optional<Update> Aggregator::finish(Sources from, bool assign) {
  if (!assign) return made_of(std::move(from), assign, take_sum());
  if (broadcast_.end(!sum_.empty())) return made_of(std::move(from), assign, take_sum());
  STRETTO_CHECK(shares_ == Shares::kKept);
  sum_ = Buffer();
  rounds_.make_nothing();
  return {};
}

void Aggregator::collect(Share share) {
  if (share.listens) listeners_.insert(share.worker);
  if (share.assign) {
    broadcast_.note(share, rank_of(share));
    if (!share.absent && sum_.empty()) add_to_sum(std::move(share));
    return;
  }
  if (held_.empty()) {
    if (!share.absent) add_to_sum(std::move(share));
    return;
  }
  // It outlives this call: memory of other owners may change once its push is acknowledged.
  const bool as_it_is = share.absent || share.bytes.exclusive() || share.bytes.lasting();
  if (!as_it_is) share.bytes = own_copy(share.bytes, allocate_);
  held_[*rounds_.group()->find(share.worker)] = std::move(share);
  if (shares_ == Shares::kAdded) add_in_rank_order(static_cast<std::uint32_t>(held_.size()));
}

// Adds consecutive contributions that have come, in rank order.
void Aggregator::add_in_rank_order(std::uint32_t until) {
  const auto has_come = [](const Share& share) { return share.absent || !share.bytes.empty(); };
  while (turn_ < until && has_come(held_[turn_])) {
    Share next = std::exchange(held_[turn_++], Share());
    if (!next.absent) add_to_sum(std::move(next));
  }
}

// ---- changes of contributors

Result<std::optional<Update>> Aggregator::regroup(const ContributorGroup& next,
                                                  std::uint64_t from_round,
                                                  const std::set<NodeId>& gone) {
  const bool later = has_rounds(layout_.options.mode) && from_round > rounds_.next_round();
  const ContributorGroup now = later ? without(rounds_.group(), gone) : next;
  if (Status status = check_gone(*now); !status.ok()) return status;
  std::erase_if(to_come_, [&](const Change& change) { return change.from_round >= from_round; });
  if (!later) to_come_.clear();
  for (Change& change : to_come_) change.group = without(change.group, gone);
  if (later) to_come_.push_back({next, from_round});
  std::optional<Update> completed;
  if (now != rounds_.group()) completed = regroup_now(now);
  follow_changes();
  return completed;
}

// Applies changes that take effect with the next round.
void Aggregator::follow_changes() {
  while (!to_come_.empty() && to_come_.front().from_round <= rounds_.next_round()) {
    const ContributorGroup next = to_come_.front().group;
    to_come_.erase(to_come_.begin());
    const std::optional<Update> completed = regroup_now(next);
    STRETTO_CHECK(!completed);  // No round is open.
  }
}

// Whether the open round can drop contributors that are not in `next`.
Status Aggregator::check_gone(const Contributors& next) const {
  if (!rounds_.open()) return {};
  if (shares_ == Shares::kKept) return sums_.check_gone(*rounds_.group(), next);
  for (const Contributor& one : rounds_.group()->all()) {
    if (next.contains(one.node)) continue;
    if (broadcast_.names(one.rank)) {
      return {Code::kPeerLost,
              fmt::format("worker {} is gone, from which a broadcast is open", one.rank)};
    }
    if (!broadcast_.open() && has_come(rounds_, one.node)) {
      return {Code::kPeerLost,
              fmt::format("the open round has the share of worker {}, which is gone, and shares "
                          "are not kept",
                          one.rank)};
    }
  }
  return sums_.check_gone(*rounds_.group(), next);
}

std::optional<Update> Aggregator::regroup_now(const ContributorGroup& next) {
  const ContributorGroup before = rounds_.group();
  const bool assign = rounds_.open_assigns();
  std::vector<Share> held(held_.empty() ? 0 : next->size());
  std::uint32_t added = 0;  // Contributions in the sum whose workers stay.
  for (std::uint32_t index = 0; index < held_.size(); ++index) {
    const auto now = next->find(before->at(index).node);
    if (!now) continue;
    held[*now] = std::move(held_[index]);
    if (index >= turn_) continue;
    STRETTO_CHECK(*now == added);  // Staying workers keep their order, before new ones.
    ++added;
  }
  held_ = std::move(held);
  turn_ = added;
  std::erase_if(listeners_, [&](NodeId node) { return !next->contains(node); });
  std::optional<Sources> from = rounds_.regroup(next);
  if (from) return finish(*std::move(from), assign);
  if (!rounds_.open()) {  // Only removed workers had contributed.
    broadcast_.drop();
    sum_ = Buffer();
    sums_.clear();
  }
  return {};
}

// ---- sums

// The sum of the completed round: zeros if all contributions were empty.
Buffer Aggregator::take_sum() {
  add_in_rank_order(static_cast<std::uint32_t>(held_.size()));
  turn_ = 0;
  sums_.clear();
  if (sum_.empty()) return zeros(layout_.elements * bytes_of(layout_.sums), allocate_);
  make_sum_ours();
  return std::exchange(sum_, Buffer());
}

void Aggregator::add_to_sum(Share share) {
  const CodecSpec& codec = layout_.codec;
  if (share.codec != Codec::kNone && sum_.empty()) {
    sum_ = decoded(share.bytes);
  } else if (share.codec != Codec::kNone) {
    make_sum_ours();
    ops::decode(codec, share.bytes.bytes(), sum_numbers(sum_.writable()), ops::Then::kAdd);
  } else if (!share.assign && layout_.sums != layout_.dtype) {
    add_widened(share.bytes);
  } else {
    add_numbers(std::move(share.bytes));
  }
}

// Kept contributions: the first is added with the second, and both are read once. Otherwise the
// first is copied at once, while it is in the cache. If it stayed in place until the second came,
// it would be cold, and its sender would fill other, colder memory.
void Aggregator::add_numbers(Buffer share) {
  const ops::ReduceOp reduction = reduction_of(layout_.options.update.rule);
  if (sum_.empty()) {
    const bool as_it_is = share.exclusive() || (shares_ == Shares::kKept && share.lasting());
    sum_ = as_it_is ? std::move(share) : own_copy(share, allocate_);
  } else if (sum_.lasting() && reduction == ops::ReduceOp::kSum) {
    Buffer sum = allocate_(sum_.size());
    ops::sum_to(layout_.dtype, sum.writable(), sum_.bytes(), share.bytes());
    sum_ = std::move(sum);
  } else {
    make_sum_ours();
    ops::reduce_into(reduction, layout_.dtype, sum_.writable(), share.bytes());
  }
}

void Aggregator::make_sum_ours() {
  if (sum_.lasting()) sum_ = own_copy(sum_, allocate_);
}

void Aggregator::add_widened(const Buffer& share) {
  const bool first = sum_.empty();
  if (first) sum_ = allocate_(layout_.elements * bytes_of(layout_.sums));
  ops::accumulate(layout_.dtype, sum_.writable(), share.bytes(), !first);
}

// Decodes into memory of this part's own.
Buffer Aggregator::decoded(const Buffer& encoded) const {
  Buffer numbers = allocate_(layout_.bytes);
  ops::decode(layout_.codec, encoded.bytes(), sum_numbers(numbers.writable()), ops::Then::kAssign);
  return numbers;
}

}  // namespace stretto

// SPDX-License-Identifier: Apache-2.0
// From shares to sums: adopted, decoded, added.
#include "server/collector.h"

#include <fmt/format.h>

#include <utility>

#include "common/check.h"
#include "ops/mean.h"
#include "ops/sum.h"

namespace stretto {
namespace {

// Memory that allocate_ gave, which is aligned.
std::span<float> sum_numbers(std::span<std::byte> bytes) {
  return {reinterpret_cast<float*>(bytes.data()), bytes.size() / sizeof(float)};
}

ops::Reduction reduction_of(Rule rule) {
  if (rule == Rule::kMin) return ops::Reduction::kMin;
  if (rule == Rule::kMax) return ops::Reduction::kMax;
  return rule == Rule::kProduct ? ops::Reduction::kProduct : ops::Reduction::kSum;
}

}  // namespace

Collector::Collector(const PartLayout& layout, Allocate allocate)
    : layout_(layout), allocate_(std::move(allocate)), rounds_(layout.options, layout.workers) {
  if (layout.options.deterministic) held_.resize(layout.workers);
}

// Shares come as the tensor's codec says, and what a broadcast sets as it is.
Status Collector::check_encoding(const Share& share) const {
  const Codec wanted = share.assign ? Codec::kNone : layout_.codec.codec;
  if (share.codec != wanted) {
    return {Code::kMismatch, fmt::format("worker {} sent a share as {}, wanted {}", share.rank,
                                         name_of(share.codec), name_of(wanted))};
  }
  if (wanted != Codec::kNone) {
    Status status =
        ops::check_encoded(layout_.codec, layout_.bytes / sizeof(float), share.bytes.bytes());
    if (status.ok()) return {};
    return {status.code(), fmt::format("worker {}: {}", share.rank, status.cause())};
  }
  if (share.bytes.size() == layout_.bytes) return {};
  return {Code::kMismatch, fmt::format("worker {} sent {} bytes for a part of {}", share.rank,
                                       share.bytes.size(), layout_.bytes)};
}

Status Collector::check(const Share& share) const {
  if (!share.absent) {
    if (Status status = check_encoding(share); !status.ok()) return status;
  }
  if (share.absent && !rounds_.collects(share.assign)) {
    return {Code::kMalformed, fmt::format("worker {} sent an empty share", share.rank)};
  }
  if (share.assign) {
    if (Status status = check_root(share); !status.ok()) return status;
  }
  return rounds_.admit(share.rank, share.round, share.assign);
}

// All name the same root, and it alone brings bytes: so a round that is whole has its bytes once.
Status Collector::check_root(const Share& share) const {
  if (share.root >= layout_.workers || share.absent != (share.rank != share.root)) {
    return {Code::kMalformed,
            fmt::format("worker {} broadcasts {} bytes, with root {} of {} workers", share.rank,
                        share.bytes.size(), share.root, layout_.workers)};
  }
  if (!root_ || *root_ == share.root) return {};
  return {Code::kMismatch, fmt::format("worker {} broadcasts from root {}, worker {} from root {}",
                                       caller_, *root_, share.rank, share.root)};
}

Result<Collector::Counted> Collector::add(Share share) {
  if (Status status = check(share); !status.ok()) return status;
  const bool assign = share.assign;
  std::optional<RankSet> contributors = rounds_.contribute(share.rank, assign);
  Counted counted{.gate = rounds_.gate_after(assign, contributors.has_value()), .update = {}};
  Buffer bytes;
  if (rounds_.collects(assign)) {
    collect(std::move(share));
    if (contributors) bytes = take_sum();
  } else {
    bytes = share.codec == Codec::kNone ? std::move(share.bytes) : decoded(share.bytes);
  }
  if (contributors && assign) root_.reset();
  STRETTO_CHECK(rounds_.open() || (sum_.empty() && !root_));
  if (!contributors) return counted;
  counted.update = {.key = layout_.key,
                    .version = rounds_.version(),
                    .contributors = *std::move(contributors),
                    .assign = assign,
                    .bytes = std::move(bytes)};
  return counted;
}

void Collector::collect(Share share) {
  if (share.assign) {
    if (!root_) caller_ = share.rank;
    root_ = share.root;
    if (!share.absent) add_to_sum(std::move(share));
    return;
  }
  if (held_.empty()) {
    if (!share.absent) add_to_sum(std::move(share));
    return;
  }
  // Kept beyond this call: memory that is not ours alone may change once its push is acked.
  if (!share.absent && !share.bytes.exclusive()) share.bytes = own_copy(share.bytes, allocate_);
  held_[share.rank] = std::move(share);
  add_in_rank_order();
}

void Collector::add_in_rank_order() {
  const auto has_come = [](const Share& share) { return share.absent || !share.bytes.empty(); };
  while (turn_ < held_.size() && has_come(held_[turn_])) {
    Share next = std::exchange(held_[turn_++], Share());
    if (!next.absent) add_to_sum(std::move(next));
  }
  if (turn_ == held_.size()) turn_ = 0;
}

// Of the round that has just been completed: zero if nobody shared anything.
Buffer Collector::take_sum() {
  if (sum_.empty()) return zeros(layout_.elements * bytes_of(layout_.sums), allocate_);
  return std::exchange(sum_, Buffer());
}

void Collector::add_to_sum(Share share) {
  const CodecSpec& codec = layout_.codec;
  if (share.codec != Codec::kNone && sum_.empty()) {
    sum_ = decoded(share.bytes);
  } else if (share.codec != Codec::kNone) {
    ops::decode(codec, share.bytes.bytes(), sum_numbers(sum_.writable()), ops::Then::kAdd);
  } else if (!share.assign && layout_.sums != layout_.dtype) {
    add_widened(share.bytes);
  } else if (!sum_.empty()) {
    ops::reduce_into(reduction_of(layout_.options.update.rule), layout_.dtype, sum_.writable(),
                     share.bytes.bytes());
  } else if (share.bytes.exclusive()) {
    sum_ = std::move(share.bytes);
  } else {
    sum_ = own_copy(share.bytes, allocate_);
  }
}

void Collector::add_widened(const Buffer& share) {
  const bool first = sum_.empty();
  if (first) sum_ = allocate_(layout_.elements * bytes_of(layout_.sums));
  ops::accumulate(layout_.dtype, sum_.writable(), share.bytes(), !first);
}

// In memory of our own.
Buffer Collector::decoded(const Buffer& encoded) const {
  Buffer numbers = allocate_(layout_.bytes);
  ops::decode(layout_.codec, encoded.bytes(), sum_numbers(numbers.writable()), ops::Then::kAssign);
  return numbers;
}

}  // namespace stretto

// SPDX-License-Identifier: Apache-2.0
// From shares to values: adopted, summed, updated, never changed once somebody may be reading them.
#include "server/cell.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "common/check.h"
#include "ops/sum.h"

namespace stretto {

Cell::Cell(const TensorSpec& spec, std::size_t bytes, std::uint32_t workers,
           std::unique_ptr<ops::UpdateRule> rule, Allocate allocate)
    : dtype_(spec.dtype),
      bytes_(bytes),
      workers_(workers),
      deterministic_(spec.options.deterministic),
      mean_(spec.options.update.rule == Rule::kMean),
      consistency_(spec.options, workers),
      rule_(std::move(rule)),
      allocate_(std::move(allocate)) {
  if (deterministic_) held_.resize(workers);
}

Status Cell::check(const Share& share) const {
  if (!share.absent && share.bytes.size() != bytes_) {
    return {Code::kMismatch, fmt::format("worker {} sent {} bytes for a part of {}", share.rank,
                                         share.bytes.size(), bytes_)};
  }
  if (share.absent && !share.assign) {
    return {Code::kMalformed, fmt::format("worker {} sent an empty share", share.rank)};
  }
  if (share.assign && !share.absent && consistency_.open() && !sum_.empty()) {
    return {Code::kMismatch,
            fmt::format("worker {} broadcasts as root, and another worker did so in this round",
                        share.rank)};
  }
  if (share.absent && sum_.empty() && consistency_.missing().size() == 1) {
    return {Code::kMismatch, "every worker broadcasts from another rank, none of them as root"};
  }
  return consistency_.admit(share.rank, share.round, share.assign);
}

Status Cell::contribute(Share share, Consistency::Gate* gate) {
  if (Status status = check(share); !status.ok()) return status;
  const bool assign = share.assign;
  const bool completed = consistency_.contribute(share.rank, assign);
  if (consistency_.collects(assign)) {
    collect(std::move(share));
    if (completed) finish(assign);
  } else {
    apply(share.bytes, 1.0);
    value_.contributors = 1;
  }
  if (completed) value_.version = consistency_.version();
  *gate = consistency_.gate_after(assign, completed);
  return {};
}

void Cell::collect(Share share) {
  if (share.assign) {
    if (!share.absent) add(std::move(share.bytes));
    return;
  }
  if (!deterministic_) {
    add(std::move(share.bytes));
    return;
  }
  // Kept beyond this call: memory that is not ours alone may change once its push is acked.
  held_[share.rank] = share.bytes.exclusive() ? std::move(share.bytes) : own_copy(share.bytes);
  add_in_rank_order();
}

void Cell::add_in_rank_order() {
  while (turn_ < workers_ && !held_[turn_].empty()) add(std::exchange(held_[turn_++], Buffer()));
  if (turn_ == workers_) turn_ = 0;
}

// The first share's memory becomes the sum if it is ours alone; the others are added straight out
// of the transport's memory.
void Cell::add(Buffer bytes) {
  if (!sum_.empty()) {
    ops::sum_into(dtype_, sum_.writable(), bytes.bytes());
  } else if (bytes.exclusive()) {
    sum_ = std::move(bytes);
  } else {
    sum_ = own_copy(bytes);
  }
}

Buffer Cell::own_copy(const Buffer& bytes) const {
  Buffer copy = allocate_(bytes.size());
  if (!bytes.empty()) std::memcpy(copy.writable().data(), bytes.data(), bytes.size());
  return copy;
}

void Cell::finish(bool assign) {
  Buffer sum = std::exchange(sum_, Buffer());
  value_.contributors = workers_;
  if (assign) {
    if (rule_ != nullptr) rule_->reset();
    value_.bytes = std::move(sum);
  } else if (rule_ != nullptr) {
    apply(sum, 1.0 / workers_);
  } else {
    if (mean_) ops::divide(dtype_, sum.writable(), workers_);
    value_.bytes = std::move(sum);
  }
}

void Cell::apply(const Buffer& gradient, double scale) {
  STRETTO_CHECK(rule_ != nullptr);
  rule_->apply(own_value(), gradient.bytes(), scale);
}

// The value's memory for writing. While an earlier version is still being sent it is left alone and
// the next one starts as its copy.
std::span<std::byte> Cell::own_value() {
  if (value_.bytes.empty()) {
    value_.bytes = allocate_(bytes_);
    std::ranges::fill(value_.bytes.writable(), std::byte{0});
  } else if (!value_.bytes.exclusive()) {
    value_.bytes = own_copy(value_.bytes);
  }
  return value_.bytes.writable();
}

std::vector<Cell::Waiter> Cell::take_ready() {
  std::vector<Waiter> ready;
  std::erase_if(waiters_, [&](const Waiter& waiter) {
    const bool passes = consistency_.passes(waiter.gate, waiter.rank);
    if (passes) ready.push_back(waiter);
    return passes;
  });
  return ready;
}

}  // namespace stretto

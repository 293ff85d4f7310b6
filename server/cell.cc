// SPDX-License-Identifier: Apache-2.0
// From shares to values: adopted, summed, updated, never changed once somebody may be reading them.
#include "server/cell.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "common/check.h"
#include "ops/mean.h"

namespace stretto {

namespace {

// Memory that allocate_ gave, which is aligned.
std::span<float> numbers_in(std::span<std::byte> bytes) {
  return {reinterpret_cast<float*>(bytes.data()), bytes.size() / sizeof(float)};
}

ops::Reduction reduction_of(Rule rule) {
  if (rule == Rule::kMin) return ops::Reduction::kMin;
  if (rule == Rule::kMax) return ops::Reduction::kMax;
  return rule == Rule::kProduct ? ops::Reduction::kProduct : ops::Reduction::kSum;
}

Buffer zeros(const Cell::Allocate& allocate, std::size_t bytes) {
  Buffer made = allocate(bytes);
  std::ranges::fill(made.writable(), std::byte{0});
  return made;
}

// The rules of optimizers average over a round too.
bool averages(Rule rule) { return rule == Rule::kMean || is_optimizer(rule); }

}  // namespace

Cell::Cell(const TensorSpec& spec, std::size_t bytes, std::uint32_t workers,
           std::unique_ptr<ops::UpdateRule> rule, Allocate allocate, std::uint32_t part)
    : dtype_(spec.dtype),
      dtype_of_sums_(dtype_of_sums(spec)),
      bytes_(bytes),
      workers_(workers),
      deterministic_(spec.options.deterministic),
      reduction_(reduction_of(spec.options.update.rule)),
      mean_(averages(spec.options.update.rule)),
      codec_(spec.options.codec.value_or(CodecSpec())),
      encoder_(codec_, false),
      encoded_{.tensor = ops::name_hash(spec.name), .part = part, .round = 0},
      consistency_(spec.options, workers),
      rule_(std::move(rule)),
      allocate_(std::move(allocate)) {
  if (deterministic_) held_.resize(workers);
}

Dtype Cell::dtype_of_sums(const TensorSpec& spec) {
  const bool means = has_rounds(spec.options.mode) && averages(spec.options.update.rule);
  return means ? ops::dtype_of_sums(spec.dtype) : spec.dtype;
}

// Shares come as the tensor's codec says, and what a broadcast sets as it is.
Status Cell::check_encoding(const Share& share) const {
  const Codec wanted = share.assign ? Codec::kNone : codec_.codec;
  if (share.codec != wanted) {
    return {Code::kMismatch, fmt::format("worker {} sent a share as {}, wanted {}", share.rank,
                                         name_of(share.codec), name_of(wanted))};
  }
  if (wanted != Codec::kNone) {
    Status status = ops::check_encoded(codec_, bytes_ / sizeof(float), share.bytes.bytes());
    if (status.ok()) return {};
    return {status.code(), fmt::format("worker {}: {}", share.rank, status.cause())};
  }
  if (share.bytes.size() == bytes_) return {};
  return {Code::kMismatch, fmt::format("worker {} sent {} bytes for a part of {}", share.rank,
                                       share.bytes.size(), bytes_)};
}

Status Cell::check(const Share& share) const {
  if (!share.absent) {
    if (Status status = check_encoding(share); !status.ok()) return status;
  }
  if (share.absent && !consistency_.collects(share.assign)) {
    return {Code::kMalformed, fmt::format("worker {} sent an empty share", share.rank)};
  }
  if (share.assign) {
    if (Status status = check_root(share); !status.ok()) return status;
  }
  return consistency_.admit(share.rank, share.round, share.assign);
}

// All name the same root, and it alone brings bytes: so a round that is whole has its bytes once.
Status Cell::check_root(const Share& share) const {
  if (share.root >= workers_ || share.absent != (share.rank != share.root)) {
    return {Code::kMalformed,
            fmt::format("worker {} broadcasts {} bytes, with root {} of {} workers", share.rank,
                        share.bytes.size(), share.root, workers_)};
  }
  if (!root_ || *root_ == share.root) return {};
  return {Code::kMismatch, fmt::format("worker {} broadcasts from root {}, worker {} from root {}",
                                       caller_, *root_, share.rank, share.root)};
}

Status Cell::contribute(Share share, Consistency::Gate* gate) {
  if (Status status = check(share); !status.ok()) return status;
  const bool assign = share.assign;
  const bool completed = consistency_.contribute(share.rank, assign);
  if (consistency_.collects(assign)) {
    collect(std::move(share));
    if (completed) finish(assign);
  } else {
    apply(share.codec == Codec::kNone ? share.bytes : decoded(share.bytes), 1.0);
    value_.contributors = 1;
  }
  STRETTO_CHECK(sum_.empty() || consistency_.open());
  STRETTO_CHECK(!root_ || consistency_.open());
  if (completed) value_.version = consistency_.version();
  *gate = consistency_.gate_after(assign, completed);
  return {};
}

void Cell::collect(Share share) {
  if (share.assign) {
    if (!root_) caller_ = share.rank;
    root_ = share.root;
    if (!share.absent) add(std::move(share));
    return;
  }
  if (!deterministic_) {
    if (!share.absent) add(std::move(share));
    return;
  }
  // Kept beyond this call: memory that is not ours alone may change once its push is acked.
  if (!share.absent && !share.bytes.exclusive()) share.bytes = own_copy(share.bytes);
  held_[share.rank] = std::move(share);
  add_in_rank_order();
}

void Cell::add_in_rank_order() {
  const auto has_come = [](const Share& share) { return share.absent || !share.bytes.empty(); };
  while (turn_ < workers_ && has_come(held_[turn_])) {
    Share next = std::exchange(held_[turn_++], Share());
    if (!next.absent) add(std::move(next));
  }
  if (turn_ == workers_) turn_ = 0;
}

// The first share's memory becomes the sum if it is ours alone; the others are added straight out
// of the transport's memory.
void Cell::add(Share share) {
  if (share.codec != Codec::kNone && sum_.empty()) {
    sum_ = decoded(share.bytes);
  } else if (share.codec != Codec::kNone) {
    ops::decode(codec_, share.bytes.bytes(), numbers_in(sum_.writable()), ops::Then::kAdd);
  } else if (!share.assign && dtype_of_sums_ != dtype_) {
    add_widened(share.bytes);
  } else if (!sum_.empty()) {
    ops::reduce_into(reduction_, dtype_, sum_.writable(), share.bytes.bytes());
  } else if (share.bytes.exclusive()) {
    sum_ = std::move(share.bytes);
  } else {
    sum_ = own_copy(share.bytes);
  }
}

void Cell::add_widened(const Buffer& share) {
  const bool first = sum_.empty();
  if (first) sum_ = allocate_(bytes_ / bytes_of(dtype_) * bytes_of(dtype_of_sums_));
  ops::accumulate(dtype_, sum_.writable(), share.bytes(), !first);
}

// In memory of our own.
Buffer Cell::decoded(const Buffer& encoded) const {
  Buffer numbers = allocate_(bytes_);
  ops::decode(codec_, encoded.bytes(), numbers_in(numbers.writable()), ops::Then::kAssign);
  return numbers;
}

// A finished sum or mean becomes the value, encoded as the shares were.
void Cell::publish(Buffer sum) {
  value_.codec = codec_.codec;
  if (!codec_.lossy()) {
    value_.bytes = std::move(sum);
    return;
  }
  encoded_.round = consistency_.version();
  value_.bytes = allocate_(ops::encoded_bytes(codec_, bytes_ / sizeof(float)));
  encoder_.encode(numbers_in(sum.writable()),
                  {.stream = ops::stream_for(codec_, encoded_, ops::kServersTurn)},
                  value_.bytes.writable());
}

Buffer Cell::own_copy(const Buffer& bytes) const {
  Buffer copy = allocate_(bytes.size());
  if (!bytes.empty()) std::memcpy(copy.writable().data(), bytes.data(), bytes.size());
  return copy;
}

void Cell::finish(bool assign) {
  Buffer sum = std::exchange(sum_, Buffer());
  if (sum.empty()) {  // Nobody shared anything.
    sum = zeros(allocate_, bytes_ / bytes_of(dtype_) * bytes_of(dtype_of_sums_));
  }
  value_.contributors = workers_;
  if (assign) {
    root_.reset();
    if (rule_ != nullptr) rule_->reset();
    encoder_.reset();
    value_.codec = Codec::kNone;
    value_.bytes = std::move(sum);
  } else if (rule_ != nullptr) {
    apply(sum, mean_ ? 1.0 / workers_ : 1.0);
  } else {
    publish(mean_ ? mean_of(std::move(sum)) : std::move(sum));
  }
}

Buffer Cell::mean_of(Buffer sum) {
  if (dtype_of_sums_ == dtype_) {
    ops::divide(dtype_, sum.writable(), workers_);
    return sum;
  }
  Buffer mean = allocate_(bytes_);
  ops::divide_sums(dtype_, sum.bytes(), workers_, mean.writable());
  return mean;
}

void Cell::apply(const Buffer& gradient, double scale) {
  STRETTO_CHECK(rule_ != nullptr);
  rule_->apply(own_value(), gradient.bytes(), scale);
}

// The value's memory for writing. While an earlier version is still being sent it is left alone and
// the next one starts as its copy.
std::span<std::byte> Cell::own_value() {
  if (value_.bytes.empty()) {
    value_.bytes = zeros(allocate_, bytes_);
  } else if (!value_.bytes.exclusive()) {
    value_.bytes = own_copy(value_.bytes);
  }
  return value_.bytes.writable();
}

}  // namespace stretto

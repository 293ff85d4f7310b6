// SPDX-License-Identifier: Apache-2.0
// Applies updates to values: publishes them, or applies a rule.
#include "server/storage/part_store.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "common/check.h"
#include "common/config/config.h"
#include "ops/mean.h"

namespace stretto {
namespace {

constexpr std::uint64_t kMostVersion = std::uint64_t{1} << 62;  // Never reached.

// Memory from allocate_, which is aligned.
std::span<const float> value_numbers(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const float*>(bytes.data()), bytes.size() / sizeof(float)};
}

}  // namespace

Store::Store(const PartLayout& layout, std::unique_ptr<ops::UpdateRule> rule, Allocate allocate)
    : layout_(layout),
      rule_(std::move(rule)),
      allocate_(std::move(allocate)),
      encoder_(layout.codec, false) {
  STRETTO_CHECK(layout_.has_rule == (rule_ != nullptr));
}

void Store::keep_snapshot() {
  if (!std::exchange(snapshot_due_, false)) return;
  snapshot_.resize(saved_bytes());
  save(0, snapshot_);
}

std::vector<std::byte> Store::take_snapshot() {
  keep_snapshot();
  return std::exchange(snapshot_, {});
}

void Store::apply(Update update) {
  keep_snapshot();
  STRETTO_CHECK(update.key == layout_.key && update.version == value_.version + 1);
  STRETTO_CHECK(update.from.size() > 0);
  STRETTO_CHECK(update.listeners <= update.from.size());
  const std::uint32_t contributors = update.from.size() - update.listeners;
  const std::uint32_t divisor = std::max(contributors, 1U);  // 0 if all workers have listened.
  if (update.assign) {
    assign(std::move(update.bytes));
  } else if (rule_ != nullptr) {
    const double scale = layout_.mean ? 1.0 / divisor : 1.0;
    rule_->apply(own_value(), update.bytes.bytes(), scale);
  } else {
    Buffer& sum = update.bytes;
    publish(layout_.mean ? mean_of(std::move(sum), divisor) : std::move(sum), update.version);
  }
  value_.version = update.version;
  value_.contributors = contributors;
  value_.from = std::move(update.from);
}

void Store::recover(Buffer bytes, std::uint64_t version, std::uint32_t contributors) {
  STRETTO_CHECK(value_.version == 0 && rule_ == nullptr && bytes.size() == layout_.bytes);
  value_ = {.version = version, .bytes = std::move(bytes), .contributors = contributors};
}

void Store::assign(Buffer bytes) {
  if (rule_ != nullptr) rule_->reset();
  encoder_.reset();
  value_.codec = Codec::kNone;
  value_.bytes = std::move(bytes);
}

// A finished sum or mean becomes the value, encoded like the contributions.
void Store::publish(Buffer sum, std::uint64_t version) {
  const CodecSpec& codec = layout_.codec;
  value_.codec = codec.codec;
  if (!codec.lossy()) {
    value_.bytes = std::move(sum);
    return;
  }
  const ops::PartRound round{
      .tensor = layout_.name_hash, .part = layout_.key.part, .round = version};
  value_.bytes = allocate_(ops::encoded_bytes(codec, layout_.elements));
  encoder_.encode(value_numbers(sum.bytes()),
                  {.stream = ops::stream_for(codec, round, ops::kServersTurn)},
                  value_.bytes.writable());
}

Buffer Store::mean_of(Buffer sum, std::uint32_t contributors) const {
  if (layout_.sums == layout_.dtype) {
    if (!sum.exclusive()) sum = own_copy(sum, allocate_);
    ops::divide(layout_.dtype, sum.writable(), contributors);
    return sum;
  }
  Buffer mean = allocate_(layout_.bytes);
  ops::divide_sums(layout_.dtype, sum.bytes(), contributors, mean.writable());
  return mean;
}

// The value's memory for writing. While an earlier version is being sent it stays unchanged, and
// the next one starts as its copy.
std::span<std::byte> Store::own_value() {
  if (value_.bytes.empty()) {
    value_.bytes = zeros(layout_.bytes, allocate_);
  } else if (!value_.bytes.exclusive()) {
    value_.bytes = own_copy(value_.bytes, allocate_);
  }
  return value_.bytes.writable();
}

SavedPartHead Store::head() const {
  return {.version = value_.version,
          .value_bytes = value_.bytes.size(),
          .owed_bytes = encoder_.error().size_bytes(),
          .contributors = value_.contributors,
          .codec = static_cast<std::uint32_t>(value_.codec)};
}

std::uint64_t Store::version_of(std::span<const std::byte> saved) {
  SavedPartHead head;
  STRETTO_CHECK(saved.size() >= sizeof head);
  std::memcpy(&head, saved.data(), sizeof head);
  return head.version;
}

std::uint64_t Store::saved_bytes() {
  const SavedPartHead now = head();
  return sizeof now + now.value_bytes + now.owed_bytes + size_of(remembered());
}

void Store::save(std::uint64_t offset, std::span<std::byte> piece) {
  const SavedPartHead now = head();
  ConstSpans all = {std::as_bytes(std::span(&now, 1)), value_.bytes.bytes(),
                    std::as_bytes(encoder_.error())};
  for (const std::span<std::byte> remembered : remembered()) all.emplace_back(remembered);
  copy_from(all, offset, piece);
}

Status Store::load(std::uint64_t offset, std::span<const std::byte> piece) {
  keep_snapshot();
  if (offset == 0 && piece.size() >= kHeadBytes) {
    SavedPartHead head;
    std::memcpy(&head, piece.data(), sizeof head);
    if (Status status = take_head(head); !status.ok()) return status;
    offset = kHeadBytes;
    piece = piece.subspan(kHeadBytes);
  }
  const std::uint64_t total = saved_bytes();
  if (offset < kHeadBytes || offset > total || piece.size() > total - offset) {
    return {Code::kMalformed,
            fmt::format("a piece of {} bytes from {} on is no part of what a store of {} saves",
                        piece.size(), offset, total)};
  }
  Spans body;
  if (!value_.bytes.empty()) body.push_back(value_.bytes.writable());
  body.push_back(std::as_writable_bytes(encoder_.owe(encoder_.error().size())));
  for (const std::span<std::byte> remembered : remembered()) body.push_back(remembered);
  copy_into(body, offset - kHeadBytes, piece);
  return {};
}

Status Store::take_head(const SavedPartHead& head) {
  const CodecSpec& codec = layout_.codec;
  const bool encoded = head.codec != 0;
  const std::uint64_t whole =
      encoded && codec.lossy() ? ops::encoded_bytes(codec, layout_.elements) : layout_.bytes;
  const bool owes = head.owed_bytes != 0;
  if (head.value_bytes != (head.version == 0 ? 0 : whole) ||
      (encoded && head.codec != static_cast<std::uint32_t>(codec.codec)) ||
      (owes && head.owed_bytes != layout_.elements * sizeof(float)) ||
      head.contributors > kMaxNodes || head.version > kMostVersion) {
    return {
        Code::kMismatch,
        fmt::format("saved is version {} of {} bytes by {} workers, and a part of {} bytes is to "
                    "load it",
                    head.version, head.value_bytes, head.contributors, layout_.bytes)};
  }
  value_ = {.version = head.version,
            .bytes = head.value_bytes == 0 ? Buffer() : allocate_(head.value_bytes),
            .codec = static_cast<Codec>(head.codec),
            .contributors = head.contributors};
  encoder_.owe(head.owed_bytes / sizeof(float));
  return {};
}

}  // namespace stretto

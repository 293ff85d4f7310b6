// SPDX-License-Identifier: Apache-2.0
// Store: the value of a part and all state on which its next values depend, changed by updates
// only. Stores that have applied the same updates are equal, bit for bit. Sends nothing.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "checkpoint/saved_part.h"
#include "ops/feedback.h"
#include "ops/update.h"
#include "server/aggregation/contribution.h"
#include "server/aggregation/part_layout.h"
#include "server/storage/scatter_gather.h"

namespace stretto {

/// A value is immutable once read: while a reader holds it the next one is made in other memory. So
/// a fast worker never changes bytes that a slow one has yet to receive.
/// Thread: loop.
class Store {
 public:
  /// `rule` takes gradients of the layout's type of sums; null if the layout has no rule.
  Store(const PartLayout& layout, std::unique_ptr<ops::UpdateRule> rule,
        Allocate allocate = Buffer::allocate);

  /// Applies an update of this part to the version after value()'s. Shared memory stays unchanged.
  void apply(Update update);
  const Value& value() const { return value_; }
  /// Initialises a store without a rule with a value that was made elsewhere.
  void recover(Buffer bytes, std::uint64_t version, std::uint32_t contributors);
  std::uint64_t value_bytes() const { return layout_.bytes; }
  bool has_rule() const { return rule_ != nullptr; }
  /// The update rule's state, which may be read and written between updates.
  Spans memory() {
    keep_snapshot();
    return remembered();
  }

  /// The complete state as one range of bytes (checkpoint/saved_part.h), read and written in
  /// consecutive pieces, without an update in between. Another store of the same layout can load it
  /// and continue from there. The first piece has at least kHeadBytes. A store whose load failed or
  /// is incomplete is unusable.
  static constexpr std::size_t kHeadBytes = sizeof(SavedPartHead);
  std::uint64_t saved_bytes();
  void save(std::uint64_t offset, std::span<std::byte> piece);
  Status load(std::uint64_t offset, std::span<const std::byte> piece);

  /// Takes a snapshot of the current state for take_snapshot(): the bytes are copied before they
  /// change, or when they are taken.
  void begin_snapshot() { snapshot_due_ = true; }
  /// The version of a saved value, from its first kHeadBytes.
  static std::uint64_t version_of(std::span<const std::byte> saved);
  /// Call once for each begin_snapshot().
  std::vector<std::byte> take_snapshot();

  /// Memory with the rule's state, without sums, values in transit and snapshots.
  std::uint64_t bytes() { return layout_.bytes + size_of(remembered()); }

 private:
  Spans remembered() { return rule_ == nullptr ? Spans() : rule_->memory(); }
  void keep_snapshot();
  SavedPartHead head() const;
  Status take_head(const SavedPartHead& head);
  void assign(Buffer bytes);
  void publish(Buffer sum, std::uint64_t version);
  Buffer mean_of(Buffer sum, std::uint32_t contributors) const;
  std::span<std::byte> own_value();

  PartLayout layout_;
  std::unique_ptr<ops::UpdateRule> rule_;
  Allocate allocate_;
  ops::PartEncoder encoder_;  // For values that are a round's sum or mean.
  Value value_;
  bool snapshot_due_ = false;        // Not copied yet,
  std::vector<std::byte> snapshot_;  // or copied, and not taken.
};

}  // namespace stretto

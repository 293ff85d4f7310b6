// SPDX-License-Identifier: Apache-2.0
// Store: the value of a part and all that its next values depend on, changed by updates only. Two
// stores that have applied the same updates are the same, bit for bit. Sends nothing.
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

/// A value is immutable once it has been read: the next one is made in other memory as long as
/// somebody holds it, so a fast worker can never touch what a slow one has yet to receive.
/// Thread: loop.
class Store {
 public:
  /// `rule` takes gradients of the layout's type of sums; it is null if the layout has none.
  Store(const PartLayout& layout, std::unique_ptr<ops::UpdateRule> rule,
        Allocate allocate = Buffer::allocate);

  /// The update is of this part and makes the version after value()'s. Memory that it shares with
  /// somebody is left as it is.
  void apply(Update update);
  const Value& value() const { return value_; }
  /// Before anything has come: its value is this, which was made elsewhere. It has no rule.
  void recover(Buffer bytes, std::uint64_t version, std::uint32_t contributors);
  std::uint64_t value_bytes() const { return layout_.bytes; }
  bool has_rule() const { return rule_ != nullptr; }
  /// What the update rule remembers, which may be read and set between updates.
  Spans memory() {
    keep_snapshot();
    return remembered();
  }

  /// All that this is, as one run of bytes (checkpoint/saved_part.h), read and written in pieces
  /// one after another without an update in between. What one store has saved another of the same
  /// layout loads, and goes on as that one. The first piece holds kHeadBytes at least. A store that
  /// has failed to load, or not loaded all, is of no more use.
  static constexpr std::size_t kHeadBytes = sizeof(SavedPartHead);
  std::uint64_t saved_bytes();
  void save(std::uint64_t offset, std::span<std::byte> piece);
  Status load(std::uint64_t offset, std::span<const std::byte> piece);

  /// What it is now, all that save() gives, stays to be had by take_snapshot(), whatever comes
  /// next: it is copied before it changes, or when it is taken.
  void begin_snapshot() { snapshot_due_ = true; }
  /// The version of a value that has been saved: of its first kHeadBytes.
  static std::uint64_t version_of(std::span<const std::byte> saved);
  /// Once for each begin_snapshot().
  std::vector<std::byte> take_snapshot();

  /// Of memory, with what the rule remembers, without sums, values that travel and snapshots.
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
  ops::PartEncoder encoder_;  // Of values that are a round's sum or mean.
  Value value_;
  bool snapshot_due_ = false;        // It is yet to be copied,
  std::vector<std::byte> snapshot_;  // or has been, and not been taken.
};

}  // namespace stretto

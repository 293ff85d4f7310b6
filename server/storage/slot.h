// SPDX-License-Identifier: Apache-2.0
// Slot: a bucket of parts that a shard owns, with all their state: open rounds, stored values, and
// which contributions have counted. A shard owns slots, never single parts, so that they can be
// fenced, counted and moved as a unit.
//
// A contribution that completes a round makes an update. append() gives it a position in the slot's
// order, and release() applies it: only then may workers be told. In between the update is logged
// or sent to a replica. Knows no links and sends nothing.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "server/aggregation/aggregator.h"
#include "server/aggregation/duplicate_filter.h"
#include "server/aggregation/waiting_list.h"
#include "server/storage/part_store.h"

namespace stretto {

/// Identifies a contribution. A NodeId is an incarnation: a restarted worker has another one.
struct PushId {
  NodeId worker = 0;
  wire::Key key;
  std::uint64_t round = 0;
};

/// One part in its slot. Thread: loop.
struct Part {
  Part(const TensorSpec& of, const PartLayout& layout, std::unique_ptr<ops::UpdateRule> rule,
       Aggregator collects, const Allocate& allocate)
      : spec(of),
        key(layout.key),
        collector(std::move(collects)),
        store(layout, std::move(rule), allocate) {}

  /// All updates have been released: the value is that of the last round.
  bool settled() const { return !held && store.value().version == collector.rounds().version(); }
  /// Removes and returns waiters that may be answered, in order of arrival. Workers are not told
  /// of unreleased updates.
  std::vector<Waiter> take_ready() {
    return settled() ? waiting.take_ready(collector.rounds()) : std::vector<Waiter>();
  }
  /// The invariant between two frames; false is a bug.
  bool consistent() const;
  /// Memory of the store, and the most that held contributions may take.
  std::uint64_t bytes() { return store.bytes() + collector.most_held_bytes(); }

  const TensorSpec& spec;  ///< The tensor's.
  wire::Key key;
  Aggregator collector;
  Store store;
  DuplicateFilter counted;
  WaitingList waiting;
  bool held = false;     ///< The standby must confirm a round without a value first.
  Status doomed;         ///< Why no round will ever finish; ok: none.
  bool restored = true;  ///< False: restoring failed, and it has no value.
};

/// Thread: loop.
class Slot {
 public:
  /// The decision on a contribution.
  enum class Verdict {
    kApply,      ///< It may count.
    kDuplicate,  ///< It has counted: acknowledge it again, and drop it.
    kMoved,      ///< For the previous owner of this slot.
  };
  /// Position of an update in the slot's order; the first is 1.
  using Position = std::uint64_t;

  /// This shard owns it from epoch `since` on.
  Slot(std::uint32_t number, std::uint32_t since) : number_(number), since_(since) {}

  std::uint32_t number() const { return number_; }
  /// It has moved to a new owner, with all its contents.
  void move(std::uint32_t since);
  Part* find(const wire::Key& key);
  /// Adds a part that does not exist. The tensor's description must outlive it.
  Part& add(const TensorSpec& spec, const PartLayout& layout, std::unique_ptr<ops::UpdateRule> rule,
            Aggregator&& collector, const Allocate& allocate);

  /// For a contribution to this part of the slot; `epoch` is the sender's.
  Verdict admit(const Part& part, const PushId& push, std::uint32_t epoch) const;
  /// Counts an admitted contribution. The caller must append an update that it completes.
  Result<Aggregator::Counted> count(Part& part, const PushId& push, Share share);

  /// For a sum of several workers' contributions: a duplicate if all of them have counted, from any
  /// sender. If only some have, count_sum() rejects it.
  Verdict admit_sum(const Part& part, const std::vector<NodeId>& makers, std::uint64_t round,
                    std::uint32_t epoch) const;
  Result<Aggregator::Counted> count_sum(Part& part, Share sum, const std::vector<NodeId>& makers);

  /// Sets the contributors of all its parts: Aggregator::regroup. Drops the waits of `gone`
  /// workers. If a worker has left gracefully, its contribution to an open round stays in it.
  /// Appends updates that this completes. Returns parts whose open round cannot continue, with the
  /// reason.
  std::vector<std::pair<Part*, Status>> regroup(const ContributorGroup& next,
                                                std::uint64_t from_round,
                                                const std::set<NodeId>& gone = {});

  /// For one part: the caller must append the completed update.
  static Result<std::optional<Update>> regroup(Part& part, const ContributorGroup& next,
                                               std::uint64_t from_round,
                                               const std::set<NodeId>& gone);
  /// Recounts the memory of all parts.
  void count_bytes();
  /// Recounts this part, which held `before` bytes at the last count.
  void count_bytes(Part& part, std::uint64_t before) { bytes_ = bytes_ - before + part.bytes(); }

  /// Appends an update to the slot's order.
  Position append(Part& part, Update update);
  /// Applies all updates up to this position, once they are stored everywhere they must be.
  void release(Position through);
  Position appended() const { return released_ + unreleased_.size(); }
  Position released() const { return released_; }

  /// Its memory and counters.
  std::uint64_t bytes() const { return bytes_; }
  std::size_t part_count() const { return parts_.size(); }
  std::uint64_t shares() const { return shares_; }

  template <typename Visit>
  void for_each_part(Visit visit) {
    for (auto& [key, part] : parts_) visit(part);
  }
  template <typename Visit>
  void for_each_part(Visit visit) const {
    for (const auto& [key, part] : parts_) visit(part);
  }
  /// The invariant between two frames, including its parts'; false is a bug.
  bool consistent() const;

 private:
  std::uint32_t number_;
  std::uint32_t since_;
  std::map<wire::Key, Part> parts_;
  struct Appended {
    Part* part;
    Update update;
  };
  std::vector<Appended> unreleased_;  // In order.
  Position released_ = 0;
  std::uint64_t bytes_ = 0;
  std::uint64_t shares_ = 0;
};

}  // namespace stretto

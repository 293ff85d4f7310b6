// SPDX-License-Identifier: Apache-2.0
// Slot: a bucket of parts that a shard owns, with all that belongs to them: what is collected, what
// is stored, and which shares have counted. A shard owns slots, never single parts, so that what it
// owns can be fenced, counted and later moved as one.
//
// A share that completes something makes an update. append() gives it its place in the slot's
// order, and release() applies it: only then may anybody be told of it. In between is where an
// update is logged or sent to a replica. Knows no links and sends nothing.
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

/// A share's name. A NodeId is an incarnation: a worker that starts again is another.
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

  /// All that has been collected has been released: the value is the one that rounds tell of.
  bool settled() const { return !held && store.value().version == collector.rounds().version(); }
  /// Those who may be told, in the order in which they came; they wait no longer. Nobody is told of
  /// what is not released.
  std::vector<Waiter> take_ready() {
    return settled() ? waiting.take_ready(collector.rounds()) : std::vector<Waiter>();
  }
  /// What holds between two frames; false is a bug of ours.
  bool consistent() const;
  /// Of memory: what is stored, and what shares that wait may take.
  std::uint64_t bytes() { return store.bytes() + collector.most_held_bytes(); }

  const TensorSpec& spec;  ///< The tensor's.
  wire::Key key;
  Aggregator collector;
  Store store;
  DuplicateFilter counted;
  WaitingList waiting;
  bool held = false;     ///< Rounds that made nothing are to be known elsewhere first.
  Status doomed;         ///< Workers disagree on a round: it will never finish.
  bool restored = true;  ///< Or nothing had to be; else its value is none.
};

/// Thread: loop.
class Slot {
 public:
  /// What is to be done with a share.
  enum class Verdict {
    kApply,      ///< It may count.
    kDuplicate,  ///< It has counted: it is acknowledged again, and that is all.
    kMoved,      ///< It was meant for whoever owned this slot before.
  };
  /// Of an update in the slot's order; the first is 1.
  using Position = std::uint64_t;

  /// Owned here from an epoch on.
  Slot(std::uint32_t number, std::uint32_t since) : number_(number), since_(since) {}

  std::uint32_t number() const { return number_; }
  /// It has moved to a new owner, with all that is in it.
  void move(std::uint32_t since);
  Part* find(const wire::Key& key);
  /// A part that is not here yet. The tensor's description outlives it.
  Part& add(const TensorSpec& spec, const PartLayout& layout, std::unique_ptr<ops::UpdateRule> rule,
            Aggregator&& collector, const Allocate& allocate);

  /// Of a share for this part of the slot; `epoch` is the sender's.
  Verdict admit(const Part& part, const PushId& push, std::uint32_t epoch) const;
  /// Counts an admitted share. An update that it completes is to be appended.
  Result<Aggregator::Counted> count(Part& part, const PushId& push, Share share);

  /// The same of the sum of several workers' contributions: a duplicate if all of them have
  /// counted, whoever sent them. If only some have, count_sum() refuses it.
  Verdict admit_sum(const Part& part, const std::vector<NodeId>& makers, std::uint64_t round,
                    std::uint32_t epoch) const;
  Result<Aggregator::Counted> count_sum(Part& part, Share sum, const std::vector<NodeId>& makers);

  /// Who makes the rounds of all its parts: Aggregator::regroup. Who is gone waits for nothing. Of
  /// those who are in no more from now on and are not gone, having left in order, what they have
  /// contributed to an open round stays in it.
  /// Updates that this completes are appended. Parts whose open round cannot go on are named with
  /// the reason.
  std::vector<std::pair<Part*, Status>> regroup(const ContributorGroup& next,
                                                std::uint64_t from_round,
                                                const std::set<NodeId>& gone = {});

  /// The same of one part: what that completes is to be appended.
  static Result<std::optional<Update>> regroup(Part& part, const ContributorGroup& next,
                                               std::uint64_t from_round,
                                               const std::set<NodeId>& gone);
  /// Parts hold more or less now than they did.
  void count_bytes();
  /// This part held `before` bytes when it was last counted.
  void count_bytes(Part& part, std::uint64_t before) { bytes_ = bytes_ - before + part.bytes(); }

  /// Gives an update its place: after all that have been appended.
  Position append(Part& part, Update update);
  /// Applies all up to this place: they are kept wherever they have to be.
  void release(Position through);
  Position appended() const { return released_ + unreleased_.size(); }
  Position released() const { return released_; }

  /// What it holds, in memory and numbers.
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
  /// What holds between two frames, of each part too; false is a bug of ours.
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

// SPDX-License-Identifier: Apache-2.0
// QuorumPart: one part of a tensor whose rounds may close before all have contributed, at one
// worker: at its root the open round's sum, and everywhere the values that no operation has taken
// yet, and what was contributed too late. It sends nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "collective/quorum_rounds.h"
#include "collective/tree.h"
#include "common/memory/buffer.h"
#include "ops/sum.h"

namespace stretto {

/// Thread: loop.
struct QuorumPart {
  /// A round's, kept until this worker comes to that round.
  struct Value {
    Buffer bytes;
    std::uint32_t contributors = 0;
    bool without_ours = false;
  };

  /// What a worker contributes: its own, with those that did not count before.
  struct Share {
    Buffer bytes;
    std::uint32_t from = 1;  ///< So many contributions.
  };

  /// At the root, so many more contributions are in the open round's sum; without bytes too.
  void add(ops::ReduceOp reduction, Dtype dtype, std::span<const std::byte> share,
           std::uint32_t from = 1);
  /// At the root, the sum of all that has been added, of a part of so many bytes: the value.
  Value make_value(ops::ReduceOp reduction, Dtype dtype, std::size_t bytes, bool without_ours);

  /// What this worker contributes; a copy.
  Share share_of(Dtype dtype, std::span<const std::byte> source);
  /// It does not count, and is kept for the next one.
  void withhold(Dtype dtype, std::span<const std::byte> share, std::uint32_t from = 1);

  /// A value of this round may come: it is one of those that can have closed.
  bool may_come(std::uint64_t round) const {
    return round > finished && round <= finished + 1 + collective::kMostBehind &&
           !values.contains(round);
  }
  /// The value of the round that was begun last is taken.
  Value take();
  /// Nothing is kept.
  void clear();

  collective::Place root = 0;
  std::optional<collective::QuorumRounds> rounds = {};  ///< At the root.
  std::uint64_t begun = 0;     ///< Rounds that operations of this worker have begun,
  std::uint64_t finished = 0;  ///< and those that they have taken the value of.
  std::map<std::uint64_t, Value> values = {};
  Share sent = {};            ///< The contribution to the round that was begun last, if kept.
  std::int32_t priority = 0;  ///< Of what came or began last.
  bool unsent = false;        ///< The root does not know the tensor yet.

 private:
  Buffer sum_ = {};  // None: nothing with bytes has been added.
  Buffer spare_ = {};
  Buffer withheld_ = {};
  std::uint32_t withheld_from_ = 0;
  std::uint32_t sum_from_ = 0;
};

}  // namespace stretto

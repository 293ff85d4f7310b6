// SPDX-License-Identifier: Apache-2.0
// QuorumPart: one part of a tensor whose rounds may close before all have contributed, at one
// worker: at its root the open round's sum, and everywhere the values that no operation has taken
// yet, and contributions that were too late. It sends nothing.
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
  /// A round's value, kept until this worker reaches that round.
  struct Value {
    Buffer bytes;
    std::uint32_t contributors = 0;
    bool without_ours = false;
  };

  /// A worker's contribution, together with earlier ones that did not count.
  struct Share {
    Buffer bytes;
    std::uint32_t from = 1;  ///< Contributions in it.
  };

  /// At the root: adds `from` contributions to the open round's sum; also without bytes.
  void add(ops::ReduceOp reduction, Dtype dtype, std::span<const std::byte> share,
           std::uint32_t from = 1);
  /// At the root: the value, the sum of all that has been added, of a part of this size.
  Value make_value(ops::ReduceOp reduction, Dtype dtype, std::size_t bytes, bool without_ours);

  /// This worker's contribution; a copy.
  Share share_of(Dtype dtype, std::span<const std::byte> source);
  /// The contribution does not count, and is kept for the next round.
  void withhold(Dtype dtype, std::span<const std::byte> share, std::uint32_t from = 1);

  /// True if a value of this round may arrive: the round can have closed.
  bool may_come(std::uint64_t round) const {
    return round > finished && round <= finished + 1 + collective::kMostBehind &&
           !values.contains(round);
  }
  /// Takes the value of the round that began last.
  Value take();
  /// Drops everything.
  void clear();

  collective::Place root = 0;
  std::optional<collective::QuorumRounds> rounds = {};  ///< At the root.
  std::uint64_t begun = 0;     ///< Rounds that operations of this worker have begun.
  std::uint64_t finished = 0;  ///< Rounds whose value they have taken.
  std::map<std::uint64_t, Value> values = {};
  Share sent = {};            ///< The contribution to the round that began last, if kept.
  std::int32_t priority = 0;  ///< Of the last arrival or begin.
  bool unsent = false;        ///< The root does not know the tensor yet.

 private:
  Buffer sum_ = {};  // Empty: no bytes have been added.
  Buffer spare_ = {};
  Buffer withheld_ = {};
  std::uint32_t withheld_from_ = 0;
  std::uint32_t sum_from_ = 0;
};

}  // namespace stretto

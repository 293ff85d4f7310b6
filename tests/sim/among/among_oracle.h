// SPDX-License-Identifier: Apache-2.0
// AmongOracle: inputs of a group's members, their expected results, and the bytes that must be
// sent, from the contract in stretto/group.h and docs/COLLECTIVES.md alone. It shares no code with
// production: no tree, no part and no sum.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tests/sim/among/among_plan.h"

namespace stretto::sim {

/// Bytes of payload.
struct AmongTraffic {
  std::uint64_t sent = 0;
  std::uint64_t taken = 0;
};

/// Thread: the simulation's.
class AmongOracle {
 public:
  explicit AmongOracle(const AmongPlan& plan) : plan_(plan) {}

  /// The input of this worker.
  std::vector<std::byte> source(std::size_t item, Rank rank) const;
  /// The error in the result of a call that succeeded; empty: none.
  std::string complaint(std::size_t item, Rank rank, std::span<const std::byte> got) const;
  /// The number of contributors that are distinct in the circle's sums.
  std::uint32_t shares(const Circle& circle) const {
    return circle.size() / (circle.spec.options.close.backups + 1);
  }
  /// For a tensor with quorum rounds: how often each worker's contribution (with backups, each data
  /// shard's) is in an element of a value.
  std::vector<std::uint32_t> counts(std::size_t item, std::span<const std::byte> value,
                                    std::uint64_t element) const;
  /// Whether the bits of a sum depend on its order.
  bool is_inexact(std::size_t item) const;

  /// Bytes that a member sends and receives in a call; nothing if they depend on its trees.
  std::optional<AmongTraffic> traffic(std::size_t item, std::uint32_t place) const;
  /// The minimum and maximum of the bytes that all members together send.
  std::pair<std::uint64_t, std::uint64_t> traffic_of_all(std::size_t item) const;

 private:
  const Circle& circle_of(std::size_t item) const {
    return plan_.circles[plan_.items[item].circle];
  }
  std::string complaint_of_counts(std::size_t item, std::span<const std::byte> got) const;
  double number(std::size_t item, std::uint32_t giver, std::uint64_t element) const;
  double reduced(std::size_t item, std::uint64_t element) const;
  double wanted(std::size_t item, std::uint32_t place, std::uint64_t element) const;
  bool has_equal_parts(std::size_t item) const;

  const AmongPlan& plan_;
};

}  // namespace stretto::sim

// SPDX-License-Identifier: Apache-2.0
// AmongOracle: what members of a group give, what they must get, and which bytes must travel for
// that, from the words of stretto/group.h and docs/COLLECTIVES.md alone: no tree, no part and no
// sum of production's is in it.
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

  /// What this worker gives.
  std::vector<std::byte> source(std::size_t item, Rank rank) const;
  /// What is wrong with what it got in a call that went well; empty: nothing.
  std::string complaint(std::size_t item, Rank rank, std::span<const std::byte> got) const;
  /// Givers that are told from one another in the circle's sums.
  std::uint32_t shares(const Circle& circle) const {
    return circle.size() / (circle.spec.options.close.backups + 1);
  }
  /// Of a tensor whose rounds may end early, how often each worker's share (with backups, each
  /// share of the data) is in an element of a value.
  std::vector<std::uint32_t> counts(std::size_t item, std::span<const std::byte> value,
                                    std::uint64_t element) const;
  /// Sums whose bits tell in which order they were made.
  bool is_inexact(std::size_t item) const;

  /// What a member sends and takes in a call; nothing where that depends on its trees.
  std::optional<AmongTraffic> traffic(std::size_t item, std::uint32_t place) const;
  /// What all members together send, at least and at most.
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

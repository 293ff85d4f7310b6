// SPDX-License-Identifier: Apache-2.0
// HistoryChecker: the second oracle of elastic jobs. It reads a history after the job has ended,
// and reports violations of the contract (docs/RELIABILITY.md). It was written from the contract
// and shares no code with LossUser's checks: it finds the contributions in a value by summing the
// sent ones.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tests/sim/losses/history.h"
#include "tests/sim/violation.h"

namespace stretto::sim {

/// Pure.
class HistoryChecker {
 public:
  explicit HistoryChecker(const History& history);

  /// The first violation in the history.
  std::optional<Violation> check();

 private:
  using Call = History::Call;
  /// How many pushes of each worker are in a value.
  using Counts = std::vector<std::uint64_t>;

  // Rules. Each reports its violations.
  void all_ends();
  void errors_name_who_was_hit();
  void going_on_fails_nobody();
  void rounds_are_sums();
  void pushes_count_once();
  void reads_go_forward(std::size_t tensor, const std::vector<const Call*>& calls,
                        const std::vector<std::vector<Counts>>& counts);
  void barriers_are_of_all();
  void ranks_are_agreed();
  void little_is_kept();

  void check_round(const Call& call);
  std::uint32_t makers_of(const Call& call, std::size_t element,
                          const std::vector<const Call*>& pushes) const;
  void check_makers(const Call& call, std::uint32_t makers);
  Counts counts_in(const Call& call, std::size_t element);
  void check_counts(const Call& call, const Counts& counts);
  void check_bound(const Call& call, const Counts& counts);
  void check_error(std::uint32_t worker, const History::End& end, const std::string& what);

  std::uint64_t rounds_before(std::size_t tensor, std::uint32_t worker) const;
  /// Whether the worker is a member at `at` and must take part.
  bool is_in(std::uint32_t worker, Time at) const;
  bool lives(std::uint32_t worker) const { return !history_.lost.contains(worker); }
  Duration allowed(Time begun, Time ended) const;
  const std::vector<const Call*>& pushes_of(std::size_t tensor, std::uint32_t worker) const;
  void broken(const std::string& rule, const std::string& what);

  const History& history_;
  std::uint32_t workers_ = 0;                                  // Including workers that joined.
  std::vector<std::vector<std::vector<const Call*>>> pushes_;  // By tensor and worker, in order.
  std::optional<Violation> violation_;
};

}  // namespace stretto::sim

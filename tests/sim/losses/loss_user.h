// SPDX-License-Identifier: Apache-2.0
// LossUser: the program of a worker in an elastic job. The program contributes to the plan's rounds
// as if no fault could occur, and checks every value: the digits of a number identify its
// contributors.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "common/clock.h"
#include "tests/sim/losses/history.h"
#include "tests/sim/losses/loss_plan.h"
#include "worker/node.h"

namespace stretto::sim {

/// State shared by all users. A round's bytes for a part are the same for all.
struct LossBoard {
  using Place = std::tuple<std::size_t, std::uint64_t, std::uint64_t>;  // Tensor, round, element.

  explicit LossBoard(const Clock& clock_given) : clock(clock_given) {}

  const Clock& clock;
  History history;  // For the second oracle.
  std::function<void(const std::string& invariant, const std::string& text)> report;
  std::map<Place, std::int64_t> values;
  std::map<Place, std::set<std::uint32_t>> known_to;                     ///< Holders.
  std::map<std::pair<std::size_t, std::uint32_t>, std::uint64_t> begun;  // Rounds, by worker.
  std::map<std::uint64_t, std::set<std::uint32_t>> barriers;             // Workers at each barrier.
  std::uint64_t steps = 0;                                               // Begun by any worker.
  std::set<std::uint32_t> lost;
  std::set<std::uint32_t> left;  // In order, before the other workers.

  bool stays(std::uint32_t number) const {
    return !lost.contains(number) && !left.contains(number);
  }
  /// For each joined worker: the rounds before its admission, in turns over all tensors.
  std::map<std::uint32_t, std::uint64_t> came;
};

/// Thread: the simulation's.
class LossUser {
 public:
  LossUser(const LossPlan& plan, std::uint32_t number, WorkerNode& node, LossBoard& board,
           const std::string& address, std::uint64_t seed);

  /// Starts operations that may start now. Call after each step of the node.
  void act();
  /// Leaves once no operation is in flight.
  void leave_soon() { goes_ = true; }
  bool joined() const { return joined_; }
  LossPhase phase() const;
  /// True once it has begun to leave; it may still agree on members.
  bool leaves() const { return leaving_; }
  /// Steps begun by any worker since this one was registered.
  std::uint64_t steps_seen() const { return board_.steps - steps_before_.value_or(board_.steps); }
  bool is_in() const { return joined_ && step_known_; }
  bool finished() const { return outcome_.has_value() && in_flight_ == 0; }
  /// How it ended; ok if it left in order.
  const std::optional<Status>& outcome() const { return outcome_; }
  std::string describe() const;

 private:
  struct Progress {
    std::optional<Tensor> tensor;
    std::uint64_t begun = 0;
    std::uint64_t acknowledged = 0;
    bool read = false;  // The final value has been requested.
    std::vector<std::int64_t>
        least;  // Growing values by element; for others the departed workers, as bits.
  };

  void declare(std::size_t index);
  bool is_newcomer() const { return number_ >= plan_.workers; }
  /// The first round of a tensor that worker `number` makes.
  std::uint64_t first_round(std::size_t index, std::uint32_t number) const;
  void begin_step();
  void start_round(std::size_t index);
  void launch(std::size_t index, Operation::Kind kind, std::uint64_t round);
  std::size_t write_down(std::size_t index, const Operation& operation, std::uint64_t round,
                         const std::vector<std::int64_t>& sent);
  History::End end_of(const Status& status) const;
  void look_at(std::size_t index, std::uint64_t round, const std::vector<std::int64_t>& values,
               const Operation& operation, bool is_last);
  void look_at_round(std::size_t index, std::uint64_t round, std::uint64_t element,
                     std::int64_t value, std::uint32_t& fewest);
  void look_at_growth(std::size_t index, std::uint64_t element, std::int64_t value, bool is_last);
  void enter_barrier();
  void leave();
  bool is_ready() const;

  const LossPlan& plan_;
  const std::uint32_t number_;
  WorkerNode& node_;
  LossBoard& board_;
  Random random_;
  std::optional<std::uint64_t> steps_before_;  // At registration.
  std::vector<Progress> tensors_;
  bool joined_ = false;
  bool goes_ = false;
  bool in_barrier_ = false;
  bool leaving_ = false;
  bool reading_ = false;           // After the last barrier.
  std::uint64_t step_ = 0;         // Rounds begun, in turns over all tensors.
  std::uint64_t steps_begun_ = 0;  // Of the program.
  bool step_known_ = false;
  bool in_step_ = false;  // The step's begin() has not returned yet.
  std::uint64_t barriers_ = 0;
  std::size_t in_flight_ = 0;
  std::optional<Status> outcome_;
};

}  // namespace stretto::sim

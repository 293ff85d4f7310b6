// SPDX-License-Identifier: Apache-2.0
// LossUser: the program of a worker in an elastic job. It makes the plan's rounds as if nothing
// could happen, and looks at every value: the digits of a number tell whose shares are in it.
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

/// What all users know together. The bytes of a round of a part are the same for all.
struct LossBoard {
  using Place = std::tuple<std::size_t, std::uint64_t, std::uint64_t>;  // Tensor, round, element.

  explicit LossBoard(const Clock& clock_given) : clock(clock_given) {}

  const Clock& clock;
  History history;  // For the second oracle.
  std::function<void(const std::string& invariant, const std::string& text)> report;
  std::map<Place, std::int64_t> values;
  std::map<Place, std::set<std::uint32_t>> known_to;                     ///< Who has them.
  std::map<std::pair<std::size_t, std::uint32_t>, std::uint64_t> begun;  // Rounds, by worker.
  std::map<std::uint64_t, std::set<std::uint32_t>> barriers;             // Who has come to which.
  std::uint64_t steps = 0;                                               // That somebody has begun.
  std::set<std::uint32_t> lost;
  std::set<std::uint32_t> left;  // In order, before the others.

  bool stays(std::uint32_t number) const {
    return !lost.contains(number) && !left.contains(number);
  }
  /// Of those who came in: before how many rounds, by turns of all tensors, they did.
  std::map<std::uint32_t, std::uint64_t> came;
};

/// Thread: the simulation's.
class LossUser {
 public:
  LossUser(const LossPlan& plan, std::uint32_t number, WorkerNode& node, LossBoard& board,
           const std::string& address, std::uint64_t seed);

  /// Starts what may be started now. Call after each step of the node.
  void act();
  /// It leaves once nothing of its is in flight.
  void leave_soon() { goes_ = true; }
  bool joined() const { return joined_; }
  LossPhase phase() const;
  /// It has begun to leave; it may choose members meanwhile.
  bool leaves() const { return leaving_; }
  /// It makes rounds, or has.
  /// So many steps have begun since it had a place.
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
    bool read = false;  // Its final value, which was asked for last.
    std::vector<std::int64_t>
        least;  // Of growing values, by element; of others who is in, as bits.
  };

  void declare(std::size_t index);
  bool is_newcomer() const { return number_ >= plan_.workers; }
  /// The first round of a tensor that this worker makes.
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
  std::optional<std::uint64_t> steps_before_;  // It had a place.
  std::vector<Progress> tensors_;
  bool joined_ = false;
  bool goes_ = false;
  bool in_barrier_ = false;
  bool leaving_ = false;
  bool reading_ = false;           // After the last barrier.
  std::uint64_t step_ = 0;         // Rounds begun, by turns of all tensors.
  std::uint64_t steps_begun_ = 0;  // Of the program.
  bool step_known_ = false;
  bool in_step_ = false;  // It is to begin.
  std::uint64_t barriers_ = 0;
  std::size_t in_flight_ = 0;
  std::optional<Status> outcome_;
};

}  // namespace stretto::sim

// SPDX-License-Identifier: Apache-2.0
// AmongUser: a worker's program in AmongJob. It begins the plan's calls, several at a time, changes
// priorities, and compares results with the oracle.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "tests/sim/among/among_oracle.h"
#include "worker/node.h"

namespace stretto::sim {

/// The progress of one item at one worker.
struct AmongEvent {
  std::optional<Time> begun;
  std::optional<Time> ended;
  Status end = {};
};

/// State that all users of a job share. Thread: the simulation's.
struct AmongBoard {
  AmongBoard(const Clock& of, const AmongPlan& made)
      : clock(of), plan(made), oracle(made), events(made.items.size()), values(made.items.size()) {
    for (auto& each : events) each.resize(made.workers);
  }
  const Clock& clock;
  const AmongPlan& plan;
  const AmongOracle oracle;
  std::function<void(const std::string& invariant, const std::string& text)> report;
  std::vector<std::vector<AmongEvent>> events;  ///< By item, then rank.
  /// Results of calls that give all members the same value, by item; inexact sums by rank too.
  std::vector<std::map<Rank, std::vector<std::byte>>> values;
  std::map<std::uint32_t, std::size_t> circles;  ///< By tensor id.
  std::size_t begun = 0;
  std::map<Rank, Time> left;  ///< When a leaving worker began to leave.
};

/// Thread: the simulation's.
class AmongUser {
 public:
  AmongUser(const AmongPlan& plan, Rank rank, WorkerNode& node, AmongBoard& board,
            const std::string& address, std::uint64_t seed);

  /// Call after each step of the worker.
  void act();
  bool joined() const { return joined_; }
  bool leaving() const { return leaving_; }
  std::size_t in_flight() const { return in_flight_.size() + founding_; }
  /// How it ended; ok if it left normally.
  const std::optional<Status>& outcome() const { return outcome_; }
  std::string describe() const;

 private:
  /// Memory lent to one operation.
  struct Lent {
    std::size_t item = 0;
    bool ahead = false;
    OperationPtr operation;
    std::vector<std::byte> source;
    std::vector<std::byte> target;  ///< With guard bytes around the lent part.
    std::span<std::byte> wanted;    ///< The destination of the value.
  };
  using LentPtr = std::shared_ptr<Lent>;

  bool is_over(std::size_t item) const { return begun_[item]; }
  bool is_ready(std::size_t item) const;
  std::optional<std::size_t> next();
  std::optional<std::size_t> one_ahead(std::size_t head);
  bool same_lane(std::size_t one, std::size_t other) const;
  void begin(std::size_t item, bool ahead);
  void found(std::size_t item);
  void start(std::size_t item, const LentPtr& lent);
  void lend(const AmongItem& what, std::size_t item, Lent& lent);
  void ended(const LentPtr& lent, const Status& status);
  void look_at(const Lent& lent);
  void steer();
  void wrong(std::size_t item, const std::string& what);

  const AmongPlan& plan_;
  const Rank rank_;
  WorkerNode& node_;
  AmongBoard& board_;
  Random random_;
  std::vector<bool> begun_;                   // By item; true also for items of other workers.
  std::vector<std::optional<Tensor>> known_;  // By circle.
  std::vector<bool> ready_;                   // By circle: calls may be made.
  std::vector<LentPtr> in_flight_;
  std::size_t founding_ = 0;
  bool joined_ = false;
  bool leaving_ = false;
  std::optional<Status> outcome_;
};

}  // namespace stretto::sim

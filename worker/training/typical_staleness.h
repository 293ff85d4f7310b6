// SPDX-License-Identifier: Apache-2.0
// The average staleness of the latest updates of all workers, where one worker cannot derive it:
// under a staleness bound a worker that is ahead waits with nothing in flight. So fewer updates
// pass than Little's law gives for workers that never wait. Each worker adds its figures to an
// asynchronous tensor that sums them.
#pragma once

#include <array>
#include <deque>
#include <memory>
#include <string>

#include "stretto/worker.h"

namespace stretto {

/// The mean of the latest figures, from sums that only grow. Thread: one at a time.
class RecentMean {
 public:
  /// The mean is over at least `figures` figures, once there are as many.
  explicit RecentMean(double figures) : figures_(figures) {}
  /// Sum and number of all figures so far.
  void add(double sum, double count);
  /// `otherwise` before the first.
  double value(double otherwise) const;

 private:
  struct Totals {
    double sum = 0;
    double count = 0;
  };
  double figures_;
  std::deque<Totals> totals_{{}};
};

/// Thread: one at a time. The worker must outlive it.
class TypicalStaleness {
 public:
  /// All workers give the same name, of a separate tensor. `expected` is the value until there are
  /// figures.
  static Result<std::unique_ptr<TypicalStaleness>> open(Worker& worker, const std::string& name,
                                                        double expected);
  ~TypicalStaleness() { (void)ticket_.wait(); }
  TypicalStaleness(const TypicalStaleness&) = delete;
  TypicalStaleness& operator=(const TypicalStaleness&) = delete;

  /// Records the staleness of an update of this worker. Does not block.
  void note(double staleness);
  double value() const { return recent_.value(expected_); }
  /// The last report. It uses this object's memory until it has ended.
  const Ticket& in_flight() const { return ticket_; }

 private:
  TypicalStaleness(Worker& worker, const Tensor& tensor, double expected)
      : worker_(worker),
        tensor_(tensor),
        expected_(expected),
        recent_(kUpdatesAWorker * worker.size()) {}

  static constexpr double kUpdatesAWorker = 16;

  Worker& worker_;
  Tensor tensor_;
  double expected_;
  RecentMean recent_;
  std::array<double, 2> noted_{};   // Sum and number, not sent yet.
  std::array<double, 2> told_{};    // In flight.
  std::array<double, 2> totals_{};  // The answer.
  bool asked_ = false;
  Ticket ticket_;
};

}  // namespace stretto

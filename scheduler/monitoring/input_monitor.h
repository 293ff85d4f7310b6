// SPDX-License-Identifier: Apache-2.0
// InputMonitor: what the workers' heartbeats tell of their input, window by window: who waits for
// data, who is starved and why, and what those are held to who take more than their share. Pure:
// it holds numbers and makes texts.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "common/input_account.h"
#include "scheduler/monitoring/input_fairness.h"
#include "scheduler/monitoring/input_view.h"

namespace stretto {

/// Thread: loop.
class InputMonitor {
 public:
  /// Judges once in `window`, which should have two heartbeats or more. Without `balances` nobody
  /// is held back.
  InputMonitor(Duration window, bool balances) : window_(window), balances_(balances) {}

  /// What the worker says: not trusted. What contradicts itself, or what it said before, does not
  /// count, and it is counted anew from what it says next.
  void heard(Rank rank, const InputTotals& totals);
  void left(Rank rank);

  /// Something to be said to people.
  struct Word {
    bool alarming = false;
    std::string text;
  };
  bool due(Time now) const { return now >= window_ends_; }
  /// Judges the window that has ended. Words are of what has begun, of a cause that turns out to
  /// be another one, and of what is over.
  std::vector<Word> judge(Time now);

  /// What the worker may have in flight; 0: no limit.
  std::uint64_t limit_of(Rank rank) const { return balances_ ? fairness_.limit_of(rank) : 0; }
  /// Of workers that read something in the last window that they told of.
  const std::map<Rank, InputView>& workers() const { return views_; }
  /// Jain's index of their shares.
  double index() const { return fairness_.latest().index; }
  /// Since the job began.
  std::uint64_t alarms() const { return alarms_; }
  /// In Prometheus's text format, by rank.
  std::string metrics() const;

 private:
  static constexpr std::uint32_t kMostAbsent = 3;  // After so many windows it tells nothing.

  struct Worker {
    std::optional<InputTotals> latest;
    std::optional<InputTotals> before;           // At the begin of the window.
    std::uint32_t absent_windows = kMostAbsent;  // In a row.
  };

  struct Windows {
    std::map<Rank, InputDelivery> read;  // Of those that read or wanted something.
    std::set<Rank> absent;               // Not heard of just now: perhaps a heartbeat comes late.
  };

  struct Said {  // Of a worker that is starved.
    Starvation cause = Starvation::kUnknown;
    std::uint32_t windows = 0;        // Since then.
    std::uint32_t other_windows = 0;  // In a row: it seems to be something else.
  };

  Windows take_windows();
  void show(const Windows& windows);
  std::vector<Word> words(const Windows& windows);
  std::string again(Rank rank, const Said& said) const;
  std::string over(Rank rank) const;

  const Duration window_;
  const bool balances_;
  Time window_ends_;
  std::map<Rank, Worker> workers_;
  InputFairness fairness_;
  std::map<Rank, InputView> views_;
  std::map<Rank, Said> starved_;
  std::uint64_t alarms_ = 0;
};

}  // namespace stretto

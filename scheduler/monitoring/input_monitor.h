// SPDX-License-Identifier: Apache-2.0
// InputMonitor: the workers' input by their heartbeats, window by window: which workers wait for
// data, which are starved and why, and which are throttled. Pure: it holds numbers and makes texts.
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
  /// Judges once every `window`, which should span two heartbeats or more. Throttles no worker
  /// unless `balances`.
  InputMonitor(Duration window, bool balances) : window_(window), balances_(balances) {}

  /// A worker's report, which is not trusted. A report that contradicts itself or an earlier one is
  /// dropped, and counting restarts with the next report.
  void heard(Rank rank, const InputTotals& totals);
  void left(Rank rank);

  /// A message for the log.
  struct Word {
    bool alarming = false;
    std::string text;
  };
  bool due(Time now) const { return now >= window_ends_; }
  /// Judges the window that has ended. Reports new alarms, changed causes, and alarms that are
  /// over.
  std::vector<Word> judge(Time now);

  /// Limit of a worker's bytes in flight; 0: no limit.
  std::uint64_t limit_of(Rank rank) const { return balances_ ? fairness_.limit_of(rank) : 0; }
  /// Workers that read something in the last window they reported.
  const std::map<Rank, InputView>& workers() const { return views_; }
  /// Jain's index of the workers' shares.
  double index() const { return fairness_.latest().index; }
  /// Since the job began.
  std::uint64_t alarms() const { return alarms_; }
  /// In Prometheus's text format, by rank.
  std::string metrics() const;

 private:
  static constexpr std::uint32_t kMostAbsent = 3;  // Windows until a worker counts as silent.

  struct Worker {
    std::optional<InputTotals> latest;
    std::optional<InputTotals> before;           // At the start of the window.
    std::uint32_t absent_windows = kMostAbsent;  // In a row.
  };

  struct Windows {
    std::map<Rank, InputDelivery> read;  // Workers that read or demanded something.
    std::set<Rank> absent;               // Not heard in this window: a heartbeat may be late.
  };

  struct Said {  // About a starved worker.
    Starvation cause = Starvation::kUnknown;
    std::uint32_t windows = 0;        // Since the alarm.
    std::uint32_t other_windows = 0;  // In a row with another cause.
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

// SPDX-License-Identifier: Apache-2.0
// Tuner: chooses depth and size of reads from a device during reading. Measurements go in, knobs
// come out; it has no threads, files or clock. It searches (Search) until no step gains more than
// the noise, keeps the knee, and then watches (DriftDetector). It searches again, from the current
// point, when the device has changed or the consumer waits again.
//
//   while (reading) {
//     read for tuner.window() under tuner.knobs(), counting;
//     tuner.measured(now, window);
//   }
//
// It is slower than the best known setting only during probes: a probe is one to nine windows (one,
// if it is clearly worse), and a search has at most TunerLimits::probes of them.
#pragma once

#include <span>
#include <vector>

#include "input/tuning/drift_detector.h"
#include "input/tuning/search.h"
#include "input/tuning/tuning_log.h"
#include "input/tuning/window_plan.h"

namespace stretto::input {

/// Thread: one at a time.
class Tuner {
 public:
  explicit Tuner(const TunerLimits& limits);
  Tuner(const Tuner&) = delete;
  Tuner& operator=(const Tuner&) = delete;

  /// The knobs for current reads.
  Knobs knobs() const;
  /// Length of the next measurement. After a change of the knobs the first window is a ramp: it is
  /// short, and its measurement is ignored.
  Duration window() const { return plan_.length(); }
  /// Measurements under knobs() since the last call.
  void measured(Time now, const Window& window);

  /// Limits the bytes in flight; 0: no limit. While the limit binds, no search runs.
  void set_cap(Time now, std::uint64_t bytes);

  /// No search is running.
  bool settled() const { return state_ == State::kSettled; }
  /// The best known setting: equal to knobs(), except during a probe or under a binding cap.
  Knobs chosen() const;
  /// Settings measured in the latest search.
  std::uint32_t probes() const { return probes_; }
  /// Trials and decisions; in a long run only the latest.
  std::span<const Trial> trials() const { return trials_; }

 private:
  enum class State : std::uint8_t { kProbing, kSettled };

  void probe(const Proposal& proposal, Action action);
  bool is_conclusive() const;
  void conclude(Time now);
  void go_on(Time now);
  void settle(Time now, std::string reason);
  void begin_to_watch();
  void watch(Time now, const Window& window);
  void search_again(Time now, std::string reason);
  void explore();
  double expected_rate() const;
  void turn(Knobs before);
  void plan_window();
  bool is_capped() const;
  void note(Time now, Action action, Point point, std::string reason);
  std::string verdict_on(Verdict verdict) const;

  TunerLimits limits_;
  Grid grid_;
  Measurements evidence_;
  Search search_;
  DriftDetector drift_;
  WindowPlan plan_;
  State state_ = State::kProbing;
  Action action_ = Action::kFirst;
  Proposal probe_;
  Point chosen_;
  std::uint64_t cap_ = 0;
  bool again_ = false;      // This search is not the first.
  bool satisfied_ = false;  // The search ended because the consumer did not wait.
  std::uint32_t probes_ = 0;
  std::uint32_t quiet_windows_ = 0;  // Since the last search or exploration.
  std::uint32_t starved_in_a_row_ = 0;
  std::uint32_t explorations_ = 0;
  std::vector<Trial> trials_;
};

}  // namespace stretto::input

// SPDX-License-Identifier: Apache-2.0
// The states of tuning: probing one point after another, and watching the chosen one.
#include "input/tuning/tuner.h"

#include <fmt/core.h>

#include <algorithm>

#include "common/clock.h"
#include "input/tuning/controls.h"

namespace stretto::input {
namespace {

constexpr std::size_t kMostWindows = 9;   // Of one probe.
constexpr std::size_t kMostAgain = 4;     // Of a probe in a later search, which should be short.
constexpr std::size_t kFirstWindows = 3;  // Of the first: they measure the noise.
constexpr double kFirstError = 0.02;      // Relative; later probes are compared with it.
constexpr double kToldFirst = 0.01;       // Relative difference that the first search resolves,
constexpr double kToldAgain = 0.03;       // and later searches.
constexpr double kStarved = 0.01;         // Fraction of time that the consumer may wait.
constexpr std::uint32_t kExploreEvery = 100;
constexpr std::uint32_t kStarvedInARow = 3;
constexpr std::size_t kMostTrials = 1024;
constexpr double kAnother = 1.5;  // A change by this factor means another device.

Duration duration(double seconds) {
  return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(seconds));
}

double stall_of(const Window& window) {
  return seconds(window.consumer_stall) / std::max(seconds(window.length), 1e-9);
}

// Its best point may be anywhere, and climbing there would take long.
bool is_another_device(const Estimate& before, const Estimate& now) {
  const auto differ = [](double a, double b) { return a > kAnother * b || b > kAnother * a; };
  return differ(before.rate, now.rate) || differ(before.mean_latency_s, now.mean_latency_s);
}

}  // namespace

Tuner::Tuner(const TunerLimits& limits)
    : limits_(limits),
      grid_(limits),
      evidence_(grid_, limits.p95_latency),
      search_(grid_, evidence_),
      plan_(limits),
      chosen_(grid_.first()) {
  probe({grid_.first(), {}, 0, "where tuning begins"}, Action::kFirst);
}

Knobs Tuner::knobs() const {
  const Knobs wanted = grid_.knobs(state_ == State::kProbing ? probe_.point : chosen_);
  return limited(wanted, cap_, grid_.knobs({}).read_bytes);
}

Knobs Tuner::chosen() const {
  const bool searched = state_ == State::kProbing && evidence_.find(search_.best()) != nullptr;
  return grid_.knobs(searched ? search_.best() : chosen_);
}

void Tuner::measured(Time now, const Window& window) {
  if (plan_.is_ramp()) return plan_window();
  if (is_capped()) return;
  if (!plan_.is_telling(window, knobs())) return;
  if (state_ == State::kSettled) return watch(now, window);
  evidence_.add(probe_.point, window);
  plan_window();
  if (is_conclusive()) conclude(now);
}

void Tuner::probe(const Proposal& proposal, Action action) {
  const Knobs before = knobs();
  state_ = State::kProbing;
  probe_ = proposal;
  action_ = action;
  ++probes_;
  turn(before);
}

bool Tuner::is_conclusive() const {
  const Estimate& estimate = *evidence_.find(probe_.point);
  const std::size_t windows = estimate.rates.size();
  if (windows >= (again_ ? kMostAgain : kMostWindows)) return true;
  if (action_ == Action::kFirst) {
    return windows >= kFirstWindows && evidence_.error(estimate) <= kFirstError;
  }
  const double difference = again_ ? kToldAgain : kToldFirst;
  return evidence_.decided(estimate, *evidence_.find(search_.best()), difference);
}

void Tuner::conclude(Time now) {
  if (action_ == Action::kFirst) {
    search_.start(probe_.point);
    note(now, action_, probe_.point, probe_.reason);
  } else {
    const Verdict verdict = search_.tell(probe_);
    note(now, action_, probe_.point, probe_.reason + verdict_on(verdict));
    if (action_ == Action::kExplore && verdict != Verdict::kBetter) {
      return settle(now, "nothing has changed");  // Watching continues where it was.
    }
  }
  go_on(now);
}

void Tuner::go_on(Time now) {
  const Estimate& best = *evidence_.find(search_.best());
  satisfied_ = evidence_.admissible(best) && best.stall < kStarved;
  if (satisfied_) return settle(now, "the consumer does not wait");
  if (probes_ >= limits_.probes) return settle(now, "no probes are left");
  if (const auto proposal = search_.climb()) return probe(*proposal, Action::kClimb);
  if (search_.reconsider()) return go_on(now);
  if (const auto proposal = search_.shrink()) return probe(*proposal, Action::kShrink);
  settle(now, "nothing else could be faster, or as fast with less in flight");
}

void Tuner::settle(Time now, std::string reason) {
  const Knobs before = knobs();
  state_ = State::kSettled;
  chosen_ = probe_.point = search_.knee();
  quiet_windows_ = starved_in_a_row_ = 0;
  if (action_ != Action::kExplore) begin_to_watch();
  note(now, Action::kChoose, chosen_, std::move(reason));
  turn(before);
}

// ---- once settled

void Tuner::begin_to_watch() {
  const Estimate& usual = *evidence_.find(chosen_);
  drift_.restart(usual.rate, usual.mean_latency_s, evidence_.noise());
}

void Tuner::watch(Time now, const Window& window) {
  plan_window();
  const bool starved = stall_of(window) >= kStarved;
  starved_in_a_row_ = starved ? starved_in_a_row_ + 1 : 0;
  if (!starved) return;  // Otherwise throughput equals demand.
  const bool changed = drift_.add(window);
  if (satisfied_ && starved_in_a_row_ >= kStarvedInARow) {
    return search_again(now, "the consumer waits again");
  }
  if (changed && !satisfied_) return search_again(now, "the device has changed");
  if (++quiet_windows_ >= kExploreEvery && !satisfied_) explore();
}

// Searches from the current point: the windows that showed the change are the first measurement.
void Tuner::search_again(Time now, std::string reason) {
  const Estimate before = *evidence_.find(chosen_);
  evidence_.forget();
  for (const Window& window : drift_.recent()) evidence_.add(chosen_, window);
  search_.start(chosen_);
  probes_ = 1;
  again_ = true;
  action_ = Action::kDrift;
  probe_.point = chosen_;
  note(now, Action::kDrift, chosen_, std::move(reason));
  if (!satisfied_ && is_another_device(before, *evidence_.find(chosen_))) {
    if (const auto proposal = search_.leap()) return probe(*proposal, Action::kClimb);
  }
  go_on(now);
}

// Looks for gains that are invisible at the current point, such as a wider link that the current
// depth does not fill.
void Tuner::explore() {
  quiet_windows_ = 0;
  const Step step = ++explorations_ % 2 == 1 ? Step{1, 0} : Step{0, 1};
  if (!grid_.permits(chosen_ + step)) return;
  evidence_.forget();
  for (const Window& window : drift_.recent()) evidence_.add(chosen_, window);
  search_.start(chosen_);
  probes_ = 1;
  probe({chosen_ + step, step, 1, "has something changed unseen?"}, Action::kExplore);
}

// ---- limits of others

bool Tuner::is_capped() const {
  return cap_ != 0 &&
         grid_.bytes_in_flight(state_ == State::kProbing ? probe_.point : chosen_) > cap_;
}

void Tuner::set_cap(Time now, std::uint64_t bytes) {
  if (bytes == cap_) return;
  const bool was_capped = is_capped();
  const Knobs before = knobs();
  cap_ = bytes;
  if (is_capped()) {
    if (state_ == State::kProbing && evidence_.find(search_.best()) != nullptr) {
      settle(now, "others limit what may be in flight");
    }
    note(now, Action::kCap, chosen_, fmt::format("at most {} bytes may be in flight", bytes));
  } else if (was_capped) {
    note(now, Action::kCap, chosen_, "what is in flight is not limited by others any more");
    if (settled()) begin_to_watch();
  }
  turn(before);
}

// ---- windows and words

// Expected bytes per second of the current setting; 0 if unknown.
double Tuner::expected_rate() const {
  const Estimate* estimate = evidence_.find(probe_.point);
  if (estimate == nullptr) estimate = evidence_.find(search_.best());
  return estimate == nullptr ? 0 : estimate->rate;
}

// Called when the knobs may have changed.
void Tuner::turn(Knobs before) {
  const bool starts = trials_.empty();
  if (knobs() == before && !starts) return plan_window();
  plan_.begin_ramp(bytes_in_flight(before) + bytes_in_flight(knobs()), expected_rate());
}

void Tuner::plan_window() { plan_.begin_window(knobs(), expected_rate()); }

std::string Tuner::verdict_on(Verdict verdict) const {
  if (verdict == Verdict::kBetter) return ": faster";
  const Estimate& best = *evidence_.find(search_.best());
  const Estimate& tried = *evidence_.find(probe_.point);
  if (!evidence_.admissible(tried)) return ": its requests are too slow";
  if (verdict == Verdict::kWorse) return ": slower";
  const bool saturated = tried.mean_latency_s > 1.5 * best.mean_latency_s && probe_.step.depth > 0;
  return saturated ? ": no faster, the latency grew as the depth did" : ": no faster";
}

void Tuner::note(Time now, Action action, Point point, std::string reason) {
  if (trials_.size() == kMostTrials) trials_.erase(trials_.begin(), trials_.begin() + 512);
  Trial trial{
      .at = now, .action = action, .knobs = grid_.knobs(point), .reason = std::move(reason)};
  if (const Estimate* estimate = evidence_.find(point)) {
    trial.windows = static_cast<std::uint32_t>(estimate->rates.size());
    trial.bytes_per_second = estimate->rate;
    trial.noise = evidence_.error(*estimate);
    trial.mean_latency = duration(estimate->mean_latency_s);
    trial.p95_latency = duration(estimate->p95_latency_s);
    trial.stall = estimate->stall;
  }
  trials_.push_back(std::move(trial));
}

}  // namespace stretto::input

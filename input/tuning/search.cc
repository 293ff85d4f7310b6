// SPDX-License-Identifier: Apache-2.0
// Searches along rays from the best point, by the points that were measured on them.
#include "input/tuning/search.h"

#include <fmt/core.h>

#include <algorithm>

namespace stretto::input {
namespace {

constexpr Step kDeeper{1, 0};
constexpr Step kShallower{-1, 0};
constexpr Step kLarger{0, 1};
constexpr Step kSmaller{0, -1};
constexpr Step kDeeperSmaller{1, -1};
constexpr Step kShallowerLarger{-1, 1};
constexpr std::array kSteps{kDeeper,  kLarger,        kShallower,
                            kSmaller, kDeeperSmaller, kShallowerLarger};

constexpr int kFirstStride = 2;
constexpr int kLongestStride = 4;
constexpr double kKnee = 0.02;
constexpr double kSurer = 0.005;
constexpr double kLeastOccupancy = 0.5;

bool raises(Step step) { return step == kDeeper || step == kLarger; }
bool is_diagonal(Step step) { return step.depth != 0 && step.size != 0; }
Step opposite(Step step) { return {-step.depth, -step.size}; }

}  // namespace

// ---- up

std::optional<Proposal> Search::leap() const {
  Point point{0, grid_.sizes() - 1};
  while (!grid_.permits(point)) --point.size;
  while (grid_.permits(point + kDeeper)) point = point + kDeeper;
  if (evidence_.find(point) != nullptr) return std::nullopt;
  return Proposal{point, {}, 0, "as much as there is memory for"};
}

std::optional<Proposal> Search::climb() const {
  const Estimate* best = evidence_.find(best_);
  if (best == nullptr) return std::nullopt;
  if (last_gain_ != Step{}) {
    if (auto proposal = along(last_gain_)) return proposal;
  }
  for (const Step step : kSteps) {
    if (step == last_gain_) continue;
    if (!evidence_.admissible(*best) && (raises(step) || is_diagonal(step))) continue;
    if (auto proposal = along(step)) return proposal;
  }
  return std::nullopt;
}

std::optional<Proposal> Search::along(Step step) const {
  int stride = step == last_gain_ ? next_stride_ : (raises(step) ? kFirstStride : 1);
  if (const std::optional<Seen> seen = nearest_seen(step)) {
    // A hill may remain between the best point and a worse point.
    const std::optional<Seen> behind = nearest_seen(opposite(step));
    const bool falls_behind =
        behind ? behind->verdict == Verdict::kWorse : is_blocked(opposite(step));
    const bool falls_ahead = seen->verdict == Verdict::kWorse || !raises(step);
    const bool hill = falls_ahead && falls_behind && seen->distance >= 2;
    if (!hill || is_diagonal(step)) return std::nullopt;
    stride = seen->distance / 2;
  } else {
    stride = std::min(stride, reach(step));
  }
  while (stride > 0 && !grid_.permits(best_ + step * stride)) --stride;
  const Point point = best_ + step * stride;
  if (stride == 0 || evidence_.find(point) != nullptr) return std::nullopt;
  return Proposal{point, step, stride, describe(step, stride)};
}

std::optional<Search::Seen> Search::nearest_seen(Step step) const {
  const Estimate* best = evidence_.find(best_);
  for (int distance = 1; grid_.contains(best_ + step * distance); ++distance) {
    const Estimate* estimate = evidence_.find(best_ + step * distance);
    if (estimate != nullptr) return Seen{distance, evidence_.compare(*estimate, *best)};
  }
  return std::nullopt;
}

bool Search::is_blocked(Step step) const { return !grid_.permits(best_ + step); }

bool Search::is_blocked_by_memory(Step step) const {
  return grid_.contains(best_ + step) && is_blocked(step);
}

// The longest first step in this direction; 0 if it cannot gain.
int Search::reach(Step step) const {
  const Estimate& best = *evidence_.find(best_);
  if (step == kDeeper && best.occupancy < kLeastOccupancy) return 0;
  if (raises(step)) return room_before_loss(step);
  if (step == kDeeperSmaller) return is_blocked_by_memory(kDeeper) ? reach(kDeeper) : 0;
  if (step == kShallowerLarger) return is_blocked_by_memory(kLarger) ? reach(kLarger) : 0;
  return turns_back(step) ? kLongestStride : 0;
}

// Steps back only if the forward step was worse or is blocked, or if the latency is inadmissible.
bool Search::turns_back(Step step) const {
  if (!evidence_.admissible(*evidence_.find(best_))) return true;
  const std::optional<Seen> ahead = nearest_seen(opposite(step));
  return ahead ? ahead->verdict == Verdict::kWorse : is_blocked(opposite(step));
}

// Uses measured steps from here or below, at the same or a smaller other coordinate. After a step
// without gain the room is 0; after a loss a hill may lie halfway.
int Search::room_before_loss(Step step) const {
  const bool depth = step == kDeeper;
  const auto along_of = [depth](Point point) { return depth ? point.depth : point.size; };
  const auto across_of = [depth](Point point) { return depth ? point.size : point.depth; };
  int room = kLongestStride;
  for (const auto& [from, before] : evidence_.all()) {
    if (across_of(from) > across_of(best_) || along_of(from) > along_of(best_)) continue;
    for (const auto& [to, after] : evidence_.all()) {
      const int ahead = along_of(to) - along_of(best_);
      if (across_of(to) != across_of(from) || ahead <= 0) continue;
      const Verdict verdict = evidence_.compare(after, before);
      if (verdict == Verdict::kAlike) return 0;
      if (verdict == Verdict::kWorse) room = std::min(room, ahead / 2);
    }
  }
  return room;
}

Verdict Search::tell(const Proposal& proposal) {
  const Verdict verdict =
      evidence_.compare(*evidence_.find(proposal.point), *evidence_.find(best_));
  if (verdict != Verdict::kBetter) return verdict;
  best_ = proposal.point;
  last_gain_ = proposal.step;
  next_stride_ = std::min(2 * proposal.stride, kLongestStride);
  return verdict;
}

bool Search::reconsider() {
  const auto surely = [this](const Estimate& estimate) {
    return estimate.rate * (1 - evidence_.error(estimate));
  };
  const Point before = best_;
  for (const auto& [point, estimate] : evidence_.all()) {
    const Estimate& best = *evidence_.find(best_);
    if (evidence_.admissible(estimate) < evidence_.admissible(best)) continue;
    if (surely(estimate) > surely(best) * (1 + kSurer)) best_ = point;
  }
  return best_ != before;
}

// ---- down

bool Search::is_nearly_as_fast(const Estimate& estimate) const {
  const Estimate& best = *evidence_.find(best_);
  if (&estimate == &best) return true;
  if (!evidence_.admissible(estimate)) return false;
  // The noise counts against the smaller setting.
  return estimate.rate >= best.rate * (1 - kKnee + evidence_.error(estimate, best));
}

Point Search::knee() const {
  Point knee = best_;
  for (const auto& [point, estimate] : evidence_.all()) {
    const bool smaller = grid_.bytes_in_flight(point) < grid_.bytes_in_flight(knee);
    if (smaller && is_nearly_as_fast(estimate)) knee = point;
  }
  return knee;
}

// True if the point is below a point, on both axes, that was already too slow.
bool Search::cannot_be_as_fast(Point point) const {
  const auto below = [](Point a, Point b) { return a.depth <= b.depth && a.size <= b.size; };
  return std::any_of(evidence_.all().begin(), evidence_.all().end(), [&](const auto& seen) {
    return below(point, seen.first) && below(seen.first, best_) && !is_nearly_as_fast(seen.second);
  });
}

std::optional<Proposal> Search::shrink() const {
  const Point from = knee();
  for (const Step step : {kShallower, kSmaller}) {
    for (const int stride : {2, 1}) {
      const Point point = from + step * stride;
      if (!grid_.permits(point) || evidence_.find(point) || cannot_be_as_fast(point)) continue;
      return Proposal{point, step, stride,
                      fmt::format("is {} nearly as fast?", describe(step, stride))};
    }
  }
  return std::nullopt;
}

std::string Search::describe(Step step, int stride) const {
  const auto part = [stride](std::string_view name, int direction) {
    return fmt::format("{} {} {}", name, direction > 0 ? "x" : "/", 1 << stride);
  };
  std::string text;
  if (step.depth != 0) text = part("depth", step.depth);
  if (step.size != 0) text += (text.empty() ? "" : ", ") + part("read size", step.size);
  return text;
}

}  // namespace stretto::input

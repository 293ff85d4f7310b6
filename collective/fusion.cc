// SPDX-License-Identifier: Apache-2.0
// An earlier end never delays later groups. So the best grouping of n gradients under a lateness
// bound is that of the first k, for some k, plus one group. Bisection finds the least feasible
// bound.
#include "collective/fusion.h"

#include <algorithm>

namespace stretto::collective {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr int kLatenessHalvings = 40;

// The end of a group whose gradients are ready at `ready_s`, after an exchange ends at `free_s`.
double end_of(double ready_s, double free_s, std::uint64_t bytes, const ExchangeCost& cost) {
  return std::max(ready_s, free_s) + cost.start_s +
         static_cast<double>(bytes) / cost.bytes_per_second;
}

class FusedRuns {
 public:
  FusedRuns(std::span<const Gradient> gradients, const ExchangeCost& cost, std::uint64_t most_bytes)
      : gradients_(gradients),
        cost_(cost),
        most_bytes_(most_bytes),
        end_(gradients.size() + 1),
        begin_(gradients.size() + 1) {}

  // Whether a grouping exists in which no sum is later than `late_s`; stores it.
  bool find(double late_s) {
    end_[0] = 0;
    double ready_s = 0;
    for (std::size_t n = 1; n <= gradients_.size(); ++n) {
      ready_s = std::max(ready_s, gradients_[n - 1].ready_s);
      add_last_group(n, ready_s, late_s);
    }
    return end_.back() < kNever;
  }

  std::vector<std::size_t> groups() const {
    std::vector<std::size_t> groups;
    for (std::size_t n = gradients_.size(); n > 0; n = begin_[n]) groups.push_back(n - begin_[n]);
    std::reverse(groups.begin(), groups.end());
    return groups;
  }

 private:
  // `ready_s`: when all gradients before n are ready, in any grouping.
  void add_last_group(std::size_t n, double ready_s, double late_s) {
    end_[n] = kNever;
    std::uint64_t bytes = 0;
    double due_s = kNever;
    for (std::size_t first = n; first-- > 0;) {
      bytes += gradients_[first].bytes;
      due_s = std::min(due_s, gradients_[first].due_s);
      if (first + 1 < n && bytes > most_bytes_) return;
      const double end = end_of(ready_s, end_[first], bytes, cost_);
      if (end < end_[n] && end <= due_s + late_s) {
        end_[n] = end;
        begin_[n] = first;
      }
    }
  }

  std::span<const Gradient> gradients_;
  ExchangeCost cost_;
  std::uint64_t most_bytes_;
  std::vector<double> end_;         // Of the first n: the earliest end of their exchange.
  std::vector<std::size_t> begin_;  // Start of their last group then.
};

}  // namespace

std::vector<std::size_t> fuse(std::span<const Gradient> gradients, const ExchangeCost& cost,
                              std::uint64_t most_bytes) {
  if (gradients.empty()) return {};
  FusedRuns grouping(gradients, cost, most_bytes);
  grouping.find(kNever);
  std::vector<std::size_t> groups = grouping.groups();
  double most = exchanged(gradients, groups, cost).late_s;
  if (most == -kNever) return groups;  // No gradient has a due time.
  double least = -kNever;              // The largest lateness of a single exchange.
  for (const Gradient& each : gradients) {
    least = std::max(least, end_of(each.ready_s, 0, each.bytes, cost) - each.due_s);
  }
  for (int i = 0; i < kLatenessHalvings; ++i) {
    const double middle = least + (most - least) / 2;
    if (grouping.find(middle)) {
      groups = grouping.groups();
      most = middle;
    } else {
      least = middle;
    }
  }
  return groups;
}

std::vector<std::size_t> fuse_by_bytes(std::span<const Gradient> gradients,
                                       std::uint64_t most_bytes) {
  std::vector<std::size_t> groups;
  std::uint64_t bytes = 0;
  for (const Gradient& gradient : gradients) {
    if (groups.empty() || bytes + gradient.bytes > most_bytes) {
      groups.push_back(0);
      bytes = 0;
    }
    ++groups.back();
    bytes += gradient.bytes;
  }
  return groups;
}

Exchanged exchanged(std::span<const Gradient> gradients, std::span<const std::size_t> groups,
                    const ExchangeCost& cost) {
  Exchanged found;
  double ready_s = 0;
  for (const std::size_t count : groups) {
    std::uint64_t bytes = 0;
    double due_s = kNever;
    for (const Gradient& gradient : gradients.first(count)) {
      bytes += gradient.bytes;
      ready_s = std::max(ready_s, gradient.ready_s);
      due_s = std::min(due_s, gradient.due_s);
    }
    gradients = gradients.subspan(count);
    found.end_s = end_of(ready_s, found.end_s, bytes, cost);
    found.late_s = std::max(found.late_s, found.end_s - due_s);
  }
  return found;
}

}  // namespace stretto::collective

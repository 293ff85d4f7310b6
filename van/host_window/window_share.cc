// SPDX-License-Identifier: Apache-2.0
// Finds active and more urgent endpoints, and what they leave.
#include "van/host_window/window_share.h"

#include <algorithm>
#include <vector>

namespace stretto::host {
namespace {

constexpr double kShareOfUrgent = 32;  // As in the send queue: the rest gets this fraction.
// The more urgent endpoints were measured below their limit.
constexpr double kRoomToGrow = 1.25;

// Totals of the other endpoints so far.
class Rivals {
 public:
  Rivals(const HostEntry& mine, HostPolicy policy) : mine_(mine), policy_(policy) {}

  void note(const HostEntry& other) {
    share_.others += other.paths;
    const bool same_job = other.job != 0 && other.job == mine_.job;
    if (!same_job) {
      share_.others_here_bytes += other.here_bytes;
      if (other.waiting) note_job(other.job);
      return;
    }
    if (policy_ == HostPolicy::kUrgent) {
      const bool above_mine = !mine_.waiting || other.urgent_priority > mine_.priority;
      share_.urgent = share_.urgent || (other.urgent && above_mine);
      if (other.waiting && mine_.waiting && other.priority < mine_.priority) return;  // It yields.
    }
    share_.others_here_bytes += other.here_bytes;
    if (!other.waiting) return;
    const bool more_urgent = !mine_.waiting || other.priority > mine_.priority;
    if (policy_ == HostPolicy::kUrgent && more_urgent) {
      share_.above = std::max(share_.above.value_or(other.priority), other.priority);
      all_known_ = all_known_ && other.recent_rate > 0;
      taken_ += other.recent_rate;
    } else {
      ++equals_;
    }
  }

  WindowShare share(double host_rate) const {
    WindowShare share = share_;
    const double jobs = static_cast<double>(jobs_.size() + anonymous_ + 1);
    if (!share.above) {
      share.part = 1 / jobs / static_cast<double>(equals_ + 1);
      return share;
    }
    const double least = host_rate / jobs / kShareOfUrgent;
    const double left = all_known_ ? host_rate / jobs - kRoomToGrow * taken_ : 0;
    share.rest_rate = std::max(least, left);
    share.part = host_rate > 0 ? share.rest_rate / host_rate : 1 / jobs / kShareOfUrgent;
    return share;
  }

 private:
  void note_job(std::uint64_t job) {
    if (job == 0) {
      ++anonymous_;
    } else if (std::ranges::find(jobs_, job) == jobs_.end()) {
      jobs_.push_back(job);
    }
  }

  const HostEntry& mine_;
  const HostPolicy policy_;
  WindowShare share_;
  std::vector<std::uint64_t> jobs_;  // Of others with waiting data.
  std::size_t anonymous_ = 0;        // Endpoints without a job count as one job each.
  std::size_t equals_ = 0;
  double taken_ = 0;       // By more urgent endpoints, in bytes a second,
  bool all_known_ = true;  // if known for all of them.
};

}  // namespace

std::uint64_t WindowShare::of(std::uint64_t window_bytes) const {
  const auto own = static_cast<std::uint64_t>(static_cast<double>(window_bytes) * part);
  return std::max(own, window_bytes - std::min(window_bytes, others_here_bytes));
}

WindowShare share_of(std::span<const HostEntry> others, const HostEntry& mine, HostPolicy policy,
                     double host_rate, Time now) {
  if (policy == HostPolicy::kNone) return {};
  Rivals rivals(mine, policy);
  for (const HostEntry& other : others) {
    if (other.is_alive(now)) rivals.note(other);
  }
  return rivals.share(host_rate);
}

}  // namespace stretto::host

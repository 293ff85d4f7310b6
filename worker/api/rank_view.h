// SPDX-License-Identifier: Apache-2.0
// Standing: a worker's rank and view of its job, for threads of the user's: the loop sets them, and
// callbacks report changes.
#pragma once

#include <algorithm>
#include <atomic>
#include <functional>
#include <optional>

#include "common/mutex.h"
#include "stretto/worker.h"
#include "worker/elastic/worker_view.h"

namespace stretto {

/// Thread: any. One mutex; callbacks run outside it. Rank and size are read without it, since
/// programs read them often.
class Standing {
 public:
  using Then = std::function<void(const JobView&)>;

  /// Sets a new view. Reports it if rank or members differ, unless it is the first.
  void set(WorkerView place) {
    Then then;
    const JobView view = view_of(place);
    {
      MutexLock lock(mutex_);
      const bool changed = place.rank != place_.rank || place.numbers != place_.numbers;
      if (changed && place_.epoch != 0) then = then_;
      place_ = std::move(place);
      most_ = std::max(most_, place_.size());
      seat_ = Seat{place_.rank, place_.size()};
      lost_as_ = place_.lost_as;
      number_ = place_.number;
    }
    if (then) then(view);
  }
  /// `then` gets every view that follows the returned one.
  JobView on_view(Then then) {
    MutexLock lock(mutex_);
    then_ = std::move(then);
    return view_of(place_);
  }

  bool elastic() {
    MutexLock lock(mutex_);
    return place_.min_workers > 0;
  }
  RestoredFrom restored() {
    MutexLock lock(mutex_);
    return place_.restored;
  }
  /// WorkerView::lost_as.
  NodeId lost_as() const { return lost_as_; }
  /// Member::number: the number in texts for users.
  Rank number() const { return number_; }
  Rank rank() const { return seat_.load().rank; }
  std::uint32_t size() const { return seat_.load().size; }
  /// A broadcast's root: its number, which is stable while ranks change, and the epoch of its rank,
  /// 0 if ranks never change. Nothing if no worker has ever had that rank; kNobody if none has it
  /// any more, which other workers may not know yet.
  struct Root {
    static constexpr Rank kNobody = ~Rank{0};
    Rank number = 0;
    std::uint32_t view = 0;
    bool is_self = false;
  };
  std::optional<Root> root(Rank rank) {
    MutexLock lock(mutex_);
    if (rank >= most_) return {};
    const std::uint32_t view = place_.min_workers == 0 ? 0 : place_.epoch;
    if (rank >= place_.size()) return Root{.number = Root::kNobody, .view = view};
    return Root{.number = place_.numbers[rank], .view = view, .is_self = rank == place_.rank};
  }

 private:
  static JobView view_of(const WorkerView& place) {
    return {.epoch = place.epoch,
            .rank = place.rank,
            .size = place.size(),
            .min_size = place.min_workers};
  }

  struct alignas(8) Seat {
    Rank rank = 0;
    std::uint32_t size = 0;
  };

  std::atomic<Seat> seat_;
  std::atomic<NodeId> lost_as_{0};
  std::atomic<Rank> number_{0};
  Mutex mutex_;
  WorkerView place_ GUARDED_BY(mutex_);
  std::uint32_t most_ GUARDED_BY(mutex_) = 0;  // The most workers at a time, so far.
  Then then_ GUARDED_BY(mutex_);
};

}  // namespace stretto

// SPDX-License-Identifier: Apache-2.0
// StatusPublisher: publishes the scheduler's state twice a second, its metrics and its snapshot for
// the live page, and takes the page's requests for traces.
#pragma once

#include <memory>

#include "observe/metrics/snapshots.h"
#include "scheduler/dashboard/page_snapshots.h"
#include "scheduler/monitoring/metrics_history.h"
#include "scheduler/scheduler.h"
#include "van/event_loop/loop.h"

namespace stretto {

/// Steps a scheduler, and publishes its state. Thread: loop.
class StatusPublisher final : public LoopTask {
 public:
  /// All outlive this. Null stores are skipped.
  StatusPublisher(Scheduler& scheduler, metrics::MetricsSnapshots* board, PageSnapshots* page,
                  const Clock& clock)
      : scheduler_(scheduler), page_(page), clock_(clock) {
    pen_.set_board(board, 0);
  }

  void step(Duration wait) override;
  Time next_due() const override;
  bool over() const override { return scheduler_.over(); }

 private:
  void show();

  Scheduler& scheduler_;
  metrics::Publisher pen_;
  PageSnapshots* page_;
  const Clock& clock_;
  History history_;
  Time next_show_ = {};
  std::uint64_t shown_trace_ = 0;
};

/// The scheduler's metrics for Prometheus: of its Van, of each node, of its trace.
metrics::Metrics metrics_of(const Scheduler& scheduler, Time now);

}  // namespace stretto

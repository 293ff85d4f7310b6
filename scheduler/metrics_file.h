// SPDX-License-Identifier: Apache-2.0
// MetricsFile: writes the scheduler's metrics to a file once a second, for Prometheus's textfile
// collector, or for cat. Replaces the file as a whole, so readers never see an incomplete one.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include "checkpoint/disk_executor.h"
#include "common/clock.h"
#include "common/files/disk.h"
#include "stretto/status.h"
#include "van/event_loop/loop.h"

namespace stretto {

/// Steps another agent, and writes files on another thread: a slow disk delays the file, not the
/// agent. Thread: loop.
class MetricsFile final : public LoopTask {
 public:
  using Metrics = std::function<std::string()>;

  /// All outlive this. `work` makes the calls to the disk. An empty path: no file, and `work` may
  /// be null.
  MetricsFile(std::string path, Disk& disk, checkpoint::DiskExecutor* work, LoopTask& agent,
              Metrics metrics, const Clock& clock)
      : path_(std::move(path)),
        disk_(disk),
        work_(work),
        agent_(agent),
        metrics_(std::move(metrics)),
        clock_(clock) {}

  void step(Duration wait) override;
  Time next_due() const override;
  bool over() const override { return agent_.over(); }

  /// Of the last written file; an error names the file and the cause.
  const Status& status() const { return status_; }

 private:
  struct Write {
    Status status;  // Owned by the writing thread, until `ended`.
    std::atomic<bool> ended{false};
  };

  void begin_write();
  void end_write();

  std::string path_;
  Disk& disk_;
  checkpoint::DiskExecutor* work_;
  LoopTask& agent_;
  Metrics metrics_;
  const Clock& clock_;
  Time next_write_ = {};
  std::shared_ptr<Write> write_;  // The only write in flight.
  Status status_;
};

}  // namespace stretto

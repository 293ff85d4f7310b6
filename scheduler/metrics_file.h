// SPDX-License-Identifier: Apache-2.0
// MetricsFile: writes the scheduler's metrics to a file once a second, for Prometheus's textfile
// collector, or for cat. The file is replaced as a whole, so a reader never sees half of one.
#pragma once

#include <functional>
#include <string>

#include "common/clock.h"
#include "common/disk.h"
#include "stretto/status.h"
#include "van/loop.h"

namespace stretto {

/// Steps another agent, and writes beside it. Thread: loop.
class MetricsFile final : public Agent {
 public:
  using Metrics = std::function<std::string()>;

  /// The disk, the agent and the clock outlive this. An empty path: no file.
  MetricsFile(std::string path, Disk& disk, Agent& agent, Metrics metrics, const Clock& clock)
      : path_(std::move(path)),
        disk_(disk),
        agent_(agent),
        metrics_(std::move(metrics)),
        clock_(clock) {}

  void step(Duration wait) override;
  Time next_due() const override;
  bool over() const override { return agent_.over(); }

  /// Writes now; the error says which file and why.
  Status write();

 private:
  std::string path_;
  Disk& disk_;
  Agent& agent_;
  Metrics metrics_;
  const Clock& clock_;
  Time next_write_ = {};
  bool complained_ = false;
};

}  // namespace stretto

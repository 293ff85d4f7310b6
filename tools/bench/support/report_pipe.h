// SPDX-License-Identifier: Apache-2.0
// ReportPipe: passes reports of worker processes to the benchmark, through a pipe. Workers inherit
// it, also through stretto-launch, and get its number on their command line. So their output is
// unchanged, and nothing needs cleaning up.
#pragma once

#include <utility>
#include <vector>

#include "common/descriptor.h"
#include "stretto/status.h"
#include "stretto/types.h"
#include "tools/bench/support/child.h"
#include "tools/bench/support/report.h"

namespace stretto::bench {

class ReportPipe {
 public:
  static Result<ReportPipe> open();

  /// The end that later child processes inherit.
  int write_end() const { return write_.get(); }

  /// Waits until `count` reports have arrived in all. kPeerLost if one of `writers` has failed, or
  /// all have ended, and reports are missing; kTimeout at `deadline`.
  Status await(std::size_t count, std::vector<Child*> writers, Time deadline);
  const std::vector<Report>& reports() const { return reports_; }

 private:
  ReportPipe(Descriptor read, Descriptor write)
      : read_(std::move(read)), write_(std::move(write)) {}
  void take();

  Descriptor read_;
  Descriptor write_;
  std::vector<Report> reports_;
};

/// Called in the worker process.
Status write_report(int descriptor, const Report& report);

}  // namespace stretto::bench

// SPDX-License-Identifier: Apache-2.0
// ReportPipe: how worker processes hand their reports to the benchmark. A pipe that they inherit,
// also through stretto-launch, by a number that is told on their command line: so their output
// stays theirs, and nothing has to be cleaned up.
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

  /// The end that processes started from now on inherit.
  int write_end() const { return write_.get(); }

  /// Waits until `count` reports have come in all. Errors: PeerLost if one of `writers` has failed,
  /// or all have ended, and reports are missing; Timeout at `deadline`.
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

/// In the worker process.
Status write_report(int descriptor, const Report& report);

}  // namespace stretto::bench

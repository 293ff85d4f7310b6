// SPDX-License-Identifier: Apache-2.0
// A job whose processes each run on a lab host: a scheduler, servers and workers.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "stretto/status.h"
#include "stretto/types.h"
#include "tools/bench/support/netlab.h"
#include "tools/bench/support/report.h"

namespace stretto::bench {

struct LabJob {
  std::uint32_t workers = 1;
  std::uint32_t servers = 1;
  std::vector<std::pair<std::string, std::string>> variables;  ///< Environment of all processes.
  std::vector<std::string> task;  ///< `worker-role` of every worker, without --report_fd.
  std::size_t reports = 1;        ///< Expected from all workers together.
  /// The lab receiver of each worker and then each server; empty: in order.
  std::vector<std::uint32_t> hosts;
};

/// Runs the job to its end: the scheduler is at the lab's sender, the workers and then the servers
/// at its receivers. Returns all reports, or the error.
Result<std::vector<Report>> run_in(const Netlab& lab, const LabJob& job, Duration patience);

}  // namespace stretto::bench

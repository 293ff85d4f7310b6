// SPDX-License-Identifier: Apache-2.0
// One measurement in a lab: a process for each receiver and one for the sender, each on its host,
// until a process reports.
#pragma once

#include <functional>
#include <span>
#include <string>

#include "stretto/status.h"
#include "stretto/types.h"
#include "tools/bench/support/netlab.h"
#include "tools/bench/support/report.h"

namespace stretto::bench {

/// Called once with the address that peers can connect to: "10.77.0.2:40123".
using TellAddress = std::function<Status(const std::string& address)>;
using TellReport = std::function<Status(const Report& report)>;

struct LabExchange {
  std::string name;
  /// Runs in each receiver, at its host's address. It is killed after the report.
  std::function<Status(const std::string& host, const TellAddress&, const TellReport&)> receive;
  /// Runs in the sender once all receivers have an address. Either end reports.
  std::function<Status(std::span<const std::string> addresses, const TellReport&)> send;
};

/// The report, or the error; the failing process also prints it on stderr.
Result<Report> exchange_in(const LabPlan::Host& sender, std::span<const LabPlan::Host> hosts,
                           const LabExchange& exchange, Duration patience);

}  // namespace stretto::bench

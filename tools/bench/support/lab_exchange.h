// SPDX-License-Identifier: Apache-2.0
// One measurement in a lab: a process for each receiver and one for the sender, each on its host,
// until somebody reports.
#pragma once

#include <functional>
#include <span>
#include <string>

#include "stretto/status.h"
#include "stretto/types.h"
#include "tools/bench/support/netlab.h"
#include "tools/bench/support/report.h"

namespace stretto::bench {

/// Told once, where others can connect: "10.77.0.2:40123".
using TellAddress = std::function<Status(const std::string& address)>;
using TellReport = std::function<Status(const Report& report)>;

struct LabExchange {
  std::string name;
  /// What a receiver does at its host's address. It is killed when the report is there.
  std::function<Status(const std::string& host, const TellAddress&, const TellReport&)> receive;
  /// What the sender does once all receivers have told where they are. Either end reports.
  std::function<Status(std::span<const std::string> addresses, const TellReport&)> send;
};

/// The one report, or what went wrong; that is also on stderr, by the process that knew it.
Result<Report> exchange_in(const LabPlan::Host& sender, std::span<const LabPlan::Host> hosts,
                           const LabExchange& exchange, Duration patience);

}  // namespace stretto::bench

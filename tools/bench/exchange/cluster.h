// SPDX-License-Identifier: Apache-2.0
// Cluster: a real job on this host, started by stretto-launch, with this program as its workers.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tools/bench/settings/settings.h"
#include "tools/bench/support/child.h"
#include "tools/bench/support/report_pipe.h"

namespace stretto::bench {

/// The destructor ends all of its processes.
class Cluster {
 public:
  /// Every worker runs `stretto-bench worker-role WORDS... --report_fd N --until_fd M`. `flags` are
  /// additional flags of the launcher.
  static Result<std::unique_ptr<Cluster>> start(const Settings& settings,
                                                const std::vector<std::string>& words,
                                                const std::vector<std::string>& flags = {});

  /// Waits until every worker has reported.
  Status await_reports(Time deadline) { return await_reports(workers_, deadline); }
  /// Waits until there are `count` reports, from any workers.
  Status await_reports(std::size_t count, Time deadline);
  const std::vector<Report>& reports() const { return pipe_.reports(); }
  /// Waits until `until`; an error if the cluster ends before.
  Status hold(Time until);
  /// Releases waiting workers, and waits until all processes have ended successfully.
  Status end(Time deadline);

  pid_t launcher() const { return launcher_.process_id(); }

 private:
  Cluster(std::uint32_t workers, ReportPipe pipe, Descriptor hold, Child launcher);

  std::uint32_t workers_;
  ReportPipe pipe_;
  Descriptor hold_;  // Workers wait until this end is closed.
  Child launcher_;
};

/// The longest time for a cluster in addition to measuring.
inline constexpr Duration kClusterPatience = 120s;

}  // namespace stretto::bench

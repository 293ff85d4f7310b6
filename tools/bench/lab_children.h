// SPDX-License-Identifier: Apache-2.0
// LabChildren: processes that live on hosts of a lab.
#pragma once

#include <functional>
#include <vector>

#include "tools/bench/child.h"
#include "tools/bench/netlab.h"

namespace stretto::bench {

/// Ended with their owner, as a Child is.
class LabChildren {
 public:
  /// Runs `body` in a new process on `host`; its result is the exit status. `cannot_enter` makes
  /// one of why the process cannot get there.
  Status start(const LabPlan::Host& host, const std::function<int()>& body,
               const std::function<int(const Status&)>& cannot_enter);
  std::vector<Child*> all();

 private:
  std::vector<Child> children_;
};

}  // namespace stretto::bench
